"""When a request goes out to an engine: from then on it may be at work on it."""

import asyncio

import pytest

from providers.clients.relay import RelayClient
from providers.core.relaying import RelayFailed, RelayRequest
from tests.clients.test_relay import closed_port
from tests.fakes.raw_server import raw_server

ASK = RelayRequest(method="POST", path="/api/chat", silence_s=5, body=b'{"model": "m"}')


async def test_it_is_told_before_the_engine_says_anything():
    told, answer_now = asyncio.Event(), asyncio.Event()

    async def script(raw, reader, writer):
        await raw.hear(reader)
        await answer_now.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    relay = RelayClient()
    async with raw_server(script) as raw, asyncio.timeout(5):
        opening = asyncio.create_task(relay.open(endpoint=raw.url, request=ASK, on_sent=told.set))
        await told.wait()
        await raw.heard_from(1)
        assert not opening.done()
        answer_now.set()
        (await opening).close()
    await relay.close()


async def test_it_is_not_told_where_nothing_is_sent():
    told: list[str] = []
    relay = RelayClient()

    with pytest.raises(RelayFailed):
        await relay.open(endpoint=f"http://127.0.0.1:{closed_port()}", request=ASK, on_sent=lambda: told.append("sent"))

    await relay.close()
    assert told == []
