"""The floor of every call: an ASGI application that asks the ledger to do nothing, then passes the call on as it came.

It knows no key, reads nothing of the call, places and meters nothing.
"""

import os
from pathlib import Path
from typing import Any

import django

django.setup()

from kubemoot_web.management.benches.fast_engine import ENGINE_VARIABLE  # noqa: E402 - Django must be set up before
from kubemoot_web.management.benches.own_valkey import VALKEY_VARIABLE, ledger_on  # noqa: E402
from providers.bootstrap import engine_relay  # noqa: E402
from providers.core.relaying import RelayRequest  # noqa: E402

SILENCE_S = 60.0

_engine = os.environ.get(ENGINE_VARIABLE, "")
_ledger = ledger_on(Path(os.environ.get(VALKEY_VARIABLE, "")))
_relay = engine_relay()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Pass one call on."""
    if scope["type"] != "http":
        raise ValueError(f"{scope['type']} is not relayed")
    body = (await receive())["body"]
    await _ledger.touch()  # type: ignore[attr-defined]
    headers = (("content-type", "application/json"),)
    asked = RelayRequest(method="POST", path=scope["path"], silence_s=SILENCE_S, headers=headers, body=body)
    answer = await _relay.open(endpoint=_engine, request=asked)
    kind = next(value for name, value in answer.headers if name == "content-type")
    await send({"type": "http.response.start", "status": answer.status, "headers": [(b"content-type", kind.encode())]})
    while piece := await answer.piece():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})
