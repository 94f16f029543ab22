"""The door to engines, over real sockets on loopback."""

import asyncio
import socket

import pytest

from providers.clients.engine import EngineHttp
from providers.core.engines.base import HttpCall, HttpReply, Trouble
from tests.fakes.raw_server import answering, raw_server

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


async def hang(raw, reader, writer):
    await raw.hear(reader)
    if not await reader.read():  # whatever else was sent, and then the end of the connection
        raw.closed_by_client.set()
    while await reader.read():
        pass
    raw.closed_by_client.set()


def get(path="/api/ps", timeout_s=5.0):
    return HttpCall(method="GET", path=path, timeout_s=timeout_s)


def post(timeout_s=5.0):
    return HttpCall(method="POST", path="/api/generate", json={"model": "m"}, timeout_s=timeout_s)


@pytest.fixture
async def door():
    async with EngineHttp(max_body_bytes=1000) as door:
        yield door


async def test_a_reply_is_its_status_and_its_body(door):
    async with raw_server(answering(HELLO)) as server:
        assert await door.send(endpoint=server.url, call=get()) == HttpReply(status=200, body=b"{}")


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/api", "/api/"])
async def test_the_endpoint_may_be_written_with_or_without_an_api_suffix(door, suffix):
    """C31: joined blindly, the path is doubled and answered with 404."""
    async with raw_server(answering(HELLO)) as server:
        await door.send(endpoint=server.url + suffix, call=get("/api/chat"))

        assert server.heard[0].startswith("GET /api/chat HTTP/1.1\r\n")


async def test_a_proxy_prefix_stays_in_the_path(door):
    async with raw_server(answering(HELLO)) as server:
        await door.send(endpoint=server.url + "/gpu-a/v1/", call=get("/v1/models"))

        assert server.heard[0].startswith("GET /gpu-a/v1/models HTTP/1.1\r\n")


async def test_a_redirect_is_a_reply_and_is_not_followed(door):
    """C85: an engine must not send us to the cloud's metadata address."""
    async with raw_server(answering(HELLO)) as other:
        answer = f"HTTP/1.1 302 Found\r\nlocation: {other.url}/latest\r\ncontent-length: 0\r\n\r\n".encode()
        async with raw_server(answering(answer)) as server:
            reply = await door.send(endpoint=server.url, call=get())

        assert reply == HttpReply(status=302)
        assert other.connections == 0


async def test_a_body_without_end_is_cut_off(door):
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n" + b"x" * 5000
    async with raw_server(answering(answer)) as server:
        reply = await door.send(endpoint=server.url, call=get())

    assert reply == HttpReply(status=200, trouble=Trouble.TOO_LARGE)


async def test_an_engine_that_hangs_costs_the_time_of_the_call_and_no_more(door):
    """C23: a list route may be green while another hangs for ever; every call has its own limit."""
    async with raw_server(hang) as server:
        assert await door.send(endpoint=server.url, call=get(timeout_s=0.05)) == HttpReply(trouble=Trouble.TIMED_OUT)


async def test_an_answer_that_drips_is_bounded_as_a_whole(door):
    async def drip(raw, reader, writer):
        await raw.hear(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_server(drip) as server:
        assert await door.send(endpoint=server.url, call=get(timeout_s=1.0)) == HttpReply(trouble=Trouble.TIMED_OUT)
        await asyncio.wait_for(server.closed_by_client.wait(), 5)


async def test_a_silent_load_is_waited_for_as_long_as_the_call_allows(door):
    """C52: a cold load sends no header for a long time; the client library's own five seconds must not end it."""
    assert door._client.timeout.read is None
    go = asyncio.Event()

    async def slow(raw, reader, writer):
        await raw.hear(reader)
        await go.wait()
        writer.write(HELLO)

    async with raw_server(slow) as server:
        sent = asyncio.create_task(door.send(endpoint=server.url, call=post(timeout_s=60)))
        asyncio.get_running_loop().call_later(0.05, go.set)

        assert await sent == HttpReply(status=200, body=b"{}")
        assert server.connections == 1


async def test_nobody_listening_is_refused(door):
    async with raw_server(hang) as server:
        url = server.url

    assert await door.send(endpoint=url, call=get()) == HttpReply(trouble=Trouble.REFUSED)


async def test_an_unknown_host_is_told_from_a_refusal(door, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    reply = await door.send(endpoint="http://no-such-host.invalid:11434", call=get())

    assert reply == HttpReply(trouble=Trouble.UNKNOWN_HOST)


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1%eth0", "::ffff:169.254.169.254"])
async def test_a_name_that_resolves_to_a_metadata_service_is_not_asked(door, monkeypatch, address):
    """The name was harmless when it was saved (C85)."""

    async def resolve(*_, **__):
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve, raising=False)

    assert await door.send(endpoint="http://gpu-a:11434", call=get()) == HttpReply(trouble=Trouble.BAD_ADDRESS)


@pytest.mark.parametrize("endpoint", ["", "gpu-a", "file:///etc/passwd", "http://", "http://gpu-a:99999", "http://a b"])
async def test_an_address_that_cannot_be_asked_is_a_reply_too(door, endpoint):
    assert await door.send(endpoint=endpoint, call=get()) == HttpReply(trouble=Trouble.BAD_ADDRESS)


CUT_OFF = {
    "before its first byte": b"",
    "within its head": b"HTTP/1.1 200 OK\r\ncont",
    "within its body": b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
    "instead of any HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "after a packed body that is no gzip": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("where", CUT_OFF)
async def test_an_answer_cut_off_is_broken(door, where):
    async with raw_server(answering(CUT_OFF[where])) as server:
        assert await door.send(endpoint=server.url, call=post()) == HttpReply(trouble=Trouble.BROKEN)
        assert server.connections == 1


async def test_a_question_is_asked_again_once_after_a_broken_connection_but_a_command_never_is(door):
    """A restarted engine leaves a dead connection behind; asking twice is harmless, loading twice need not be."""

    async def first_dies(raw, reader, writer):
        await raw.hear(reader)
        writer.write(b"" if raw.connections == 1 else HELLO)

    async with raw_server(first_dies) as server:
        assert await door.send(endpoint=server.url, call=get()) == HttpReply(status=200, body=b"{}")
    async with raw_server(first_dies) as server:
        assert await door.send(endpoint=server.url, call=post()) == HttpReply(trouble=Trouble.BROKEN)


async def test_cancelling_closes_the_connection(door):
    """C34: an engine stops working for a caller only when the connection closes."""
    async with raw_server(hang) as server:
        sent = asyncio.create_task(door.send(endpoint=server.url, call=post(timeout_s=60)))
        await server.heard_from(1)
        sent.cancel()

        await asyncio.wait_for(server.closed_by_client.wait(), 5)


async def test_no_proxy_of_the_environment_is_used(door, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with raw_server(answering(HELLO)) as server, EngineHttp() as fresh:
        assert await fresh.send(endpoint=server.url, call=get()) == HttpReply(status=200, body=b"{}")


async def test_many_calls_at_once_do_not_wait_for_each_other(door):
    """Loads are silent for minutes; a hundred and twenty of them must not keep probes from being sent."""
    async with raw_server(hang) as hung, raw_server(answering(HELLO)) as quick:
        loads = [asyncio.create_task(door.send(endpoint=hung.url, call=post(timeout_s=60))) for _ in range(120)]
        await hung.heard_from(120)

        assert await door.send(endpoint=quick.url, call=get()) == HttpReply(status=200, body=b"{}")

        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
