"""JSON over HTTP for commands, with nothing but the standard library."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any


async def exchange(
    *, method: str, url: str, timeout_s: float, body: object = None, headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Send JSON and read JSON; an answer with an error status is an answer.

    Raises:
        OSError: nobody answers in time.
        ValueError: the answer is no JSON.
    """
    return await asyncio.to_thread(_exchange, method, url, timeout_s, body, headers or {})


def _exchange(method: str, url: str, timeout_s: float, body: object, headers: Mapping[str, str]) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the callers name http addresses alone
        url, data=data, method=method, headers={"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310 - as above
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"null")
