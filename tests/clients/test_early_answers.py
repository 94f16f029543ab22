"""Engines that answer before they have read a request."""

from dataclasses import replace

from providers.clients.relay import RelayClient
from providers.core.relaying import RelayRequest
from tests.fakes.raw_server import raw_server

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
