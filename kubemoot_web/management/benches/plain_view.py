"""What a plain Django project would do: an async view that streams what httpx gets, and nothing else."""

import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import path

from kubemoot_web.management.benches.fast_engine import ENGINE_VARIABLE

_client = httpx.AsyncClient(
    base_url=os.environ.get(ENGINE_VARIABLE, ""),
    timeout=60,
    trust_env=False,
    limits=httpx.Limits(max_connections=None, max_keepalive_connections=1000),
)


async def relay(request: HttpRequest) -> StreamingHttpResponse:
    """Pass a call on, and its answer back."""
    asked = _client.build_request(
        "POST", request.path, content=request.body, headers={"content-type": "application/json"}
    )
    answer = await _client.send(asked, stream=True)
    return StreamingHttpResponse(
        _pieces(answer), status=answer.status_code, content_type=answer.headers["content-type"]
    )


async def _pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()


urlpatterns: list[Any] = [path("v1/chat/completions", relay)]
application = get_asgi_application()
