"""Engines that answer before they have read a request, or close before they were sent one."""

import asyncio
from dataclasses import replace

import pytest

from providers.clients.relay import RelayClient
from providers.core.engines.base import Trouble
from providers.core.relaying import RelayFailed, RelayRequest
from tests.fakes.raw_server import answering, raw_server

ASK = RelayRequest(method="POST", path="/api/chat", silence_s=5, body=b"{}")
ANSWER = b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\n{}"


async def test_a_connection_on_which_a_request_is_still_sent_is_not_used_again():
    """The next call would have waited behind megabytes that nobody reads, or gone down with them."""

    async def script(raw, reader, writer):
        await raw.hear(reader)
        writer.write(ANSWER)
        await writer.drain()
        await raw.closed_by_client.wait()

    relay, answers = RelayClient(), []
    async with raw_server(script) as raw:
        for body in (b" " * 32 * 1024 * 1024, b"{}"):
            answer = await relay.open(endpoint=raw.url, request=replace(ASK, body=body))
            answers.append((answer.status, await answer.piece()))
            answer.close()
        connections = raw.connections
        raw.closed_by_client.set()
        await relay.close()

    assert (answers, connections) == ([(413, b"{}")] * 2, 2)


async def test_a_connection_that_closes_as_soon_as_it_is_open_got_no_request(monkeypatch):
    """It may be sent again: nobody can be at work on it."""
    loop = asyncio.get_running_loop()
    real = loop.create_connection

    async def closing(*args, **more):
        transport, wire = await real(*args, **more)
        transport.abort()
        await asyncio.sleep(0)
        return transport, wire

    monkeypatch.setattr(loop, "create_connection", closing)
    relay = RelayClient()
    async with raw_server(answering(ANSWER)) as raw:
        with pytest.raises(RelayFailed) as failed:
            await relay.open(endpoint=raw.url, request=ASK)
    await relay.close()

    assert (failed.value.trouble, failed.value.was_sent) == (Trouble.UNREACHED, False)
