"""The door to engines for clients' calls, over real sockets on loopback."""

import asyncio
import gzip
import socket

import pytest

from providers.clients.relay import RelayClient
from providers.core.engines.base import Trouble
from providers.core.relaying import RelayFailed, RelayRequest
from tests.fakes.raw_server import answering, raw_server

ASK = RelayRequest(method="POST", path="/api/chat", silence_s=5, body=b'{"model": "m"}')


@pytest.fixture
async def relay():
    client = RelayClient()
    yield client
    await client.close()


async def body_of(answer):
    pieces = []
    while piece := await answer.piece():
        pieces.append(piece)
    return pieces


async def test_pieces_come_as_they_are_sent_and_unchanged(relay):
    more = asyncio.Event()

    async def script(raw, reader, writer):
        await raw.hear(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nX-Request-Id: r-1\r\n\r\n3\r\n\xc3\xb6\xff\r\n")
        await more.wait()
        writer.write(b"2\r\n{}\r\n0\r\n\r\n")
        await writer.drain()

    async with raw_server(script) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)
        assert answer.status == 200
        assert answer.headers == (("x-request-id", "r-1"),)
        assert await answer.piece() == b"\xc3\xb6\xff"
        more.set()
        assert await body_of(answer) == [b"{}"]
        answer.close()


async def test_a_request_goes_out_as_it_was_made(relay):
    async with raw_server(answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")) as raw:
        request = RelayRequest(method="POST", path="/v1/x?a=%2F", silence_s=5, headers=(("x-a", "b"),), body=b"{}")
        (await relay.open(endpoint=raw.url + "/v1/", request=request)).close()

    head = raw.heard[0].lower()
    assert head.startswith("post /v1/x?a=%2f http/1.1\r\n")
    assert "x-a: b\r\n" in head
    assert "content-length: 2\r\n" in head
    assert "accept-encoding: identity\r\n" in head


async def test_a_packed_answer_comes_unpacked_and_does_not_say_otherwise(relay):
    """C62: the library unpacked the body and the headers still spoke of the packed one."""
    packed = gzip.compress(b"x" * 5000)
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(packed)}\r\nkeep-alive: timeout=5\r\n"
    async with raw_server(answering(head.encode() + b"content-type: text/plain\r\n\r\n" + packed)) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)

        assert answer.headers == (("content-type", "text/plain"),)
        assert b"".join(await body_of(answer)) == b"x" * 5000


async def test_closing_an_answer_ends_the_engines_work(relay):
    """C63: the gateway read on to the end for a client that was gone."""

    async def script(raw, reader, writer):
        await raw.hear(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_server(script) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)
        await answer.piece()
        answer.close()
        async with asyncio.timeout(5):
            await raw.closed_by_client.wait()


async def test_a_cancelled_call_closes_its_connection(relay):
    """C34: nobody listened for a disconnect before the first byte, and the engine worked for nobody."""

    async def script(raw, reader, writer):
        await raw.hear(reader)
        await reader.read()  # the rest of the body, then the end of the connection
        raw.closed_by_client.set()

    async with raw_server(script) as raw:
        opening = asyncio.ensure_future(relay.open(endpoint=raw.url, request=ASK))
        await raw.heard_from(1)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        async with asyncio.timeout(5):
            await raw.closed_by_client.wait()


async def test_a_redirect_is_not_followed(relay):
    async with raw_server(answering(b"HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n")) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)

        assert answer.status == 302
        assert len(raw.heard) == 1


CUT = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"


async def test_an_engine_that_dies_in_the_middle_is_no_short_answer(relay):
    async with raw_server(answering(CUT)) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)
        assert await answer.piece() == b"{}"
        with pytest.raises(RelayFailed) as caught:
            await answer.piece()

    assert (caught.value.trouble, caught.value.was_sent) == (Trouble.BROKEN, True)


async def test_an_engine_that_falls_silent_is_given_up(relay):
    async def script(raw, reader, writer):
        await raw.hear(reader)
        await reader.read()

    async with raw_server(script) as raw:
        quick = RelayRequest(method="POST", path="/api/chat", silence_s=0.2, body=b"{}")
        with pytest.raises(RelayFailed) as caught:
            await relay.open(endpoint=raw.url, request=quick)

    assert (caught.value.trouble, caught.value.was_sent) == (Trouble.TIMED_OUT, True)


async def test_an_engine_that_closes_without_a_word_may_have_got_the_request(relay):
    async with raw_server(answering(b"")) as raw:
        with pytest.raises(RelayFailed) as caught:
            await relay.open(endpoint=raw.url, request=ASK)

    assert (caught.value.trouble, caught.value.was_sent) == (Trouble.BROKEN, True)


def closed_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


@pytest.mark.parametrize(
    ("endpoint", "trouble"),
    [
        (f"http://127.0.0.1:{closed_port()}", Trouble.REFUSED),
        ("http://no-such-host.invalid:1", Trouble.UNKNOWN_HOST),
        ("http://169.254.169.254", Trouble.BAD_ADDRESS),
        ("not an address", Trouble.BAD_ADDRESS),
    ],
    ids=["refused", "unknown host", "metadata", "no address"],
)
async def test_where_nobody_is_nothing_was_sent(relay, endpoint, trouble):
    with pytest.raises(RelayFailed) as caught:
        await relay.open(endpoint=endpoint, request=ASK)

    assert (caught.value.trouble, caught.value.was_sent) == (trouble, False)


def talking(*answers):
    """Make a script that answers request after request on one connection, as engines do that keep it."""

    async def script(raw, reader, writer):
        for answer in answers:
            await raw.hear(reader)
            writer.write(answer)
            await writer.drain()
        await reader.read()

    return script


SHORT = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


async def test_a_connection_whose_answer_was_read_is_used_again(relay):
    async with raw_server(talking(SHORT, SHORT)) as raw:
        for _ in range(2):
            answer = await relay.open(endpoint=raw.url, request=ASK)
            assert await body_of(answer) == [b"{}"]
            answer.close()

    assert (len(raw.heard), raw.connections) == (2, 1)


async def test_what_comes_behind_an_answer_is_nobodys(relay):
    """Taken for the head of the next answer, it would give one caller's words to another."""
    async with raw_server(talking(SHORT + SHORT)) as raw:
        first = await relay.open(endpoint=raw.url, request=ASK)
        assert await body_of(first) == [b"{}"]

        again = await relay.open(endpoint=raw.url, request=ASK)
        again.close()

    assert (len(raw.heard), raw.connections) == (2, 2)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + SHORT, b"{}"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-trailer: a\r\n\r\n", b"{}"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
async def test_an_answer_ends_where_its_head_says(relay, answer, body):
    async with raw_server(answering(answer)) as raw:
        opened = await relay.open(endpoint=raw.url, request=ASK)

        assert b"".join(await body_of(opened)) == body


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\n" + gzip.compress(b"x" * 99)[:9],
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-long: " + b"x" * 1_000_000 + b"\r\ncontent-length: 2\r\n\r\n{}",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
    ids=["cut", "bad chunk", "unknown packing", "not packed", "cut packing", "upgrade", "long head", "no http"],
)
async def test_what_cannot_be_read_is_broken(relay, answer):
    async with raw_server(answering(answer)) as raw:
        with pytest.raises(RelayFailed) as caught:
            await body_of(await relay.open(endpoint=raw.url, request=ASK))

    assert (caught.value.trouble, caught.value.was_sent) == (Trouble.BROKEN, True)


async def test_who_reads_slowly_makes_the_engine_wait(relay):
    size = 32 * 1024 * 1024
    sent = asyncio.Event()

    async def script(raw, reader, writer):
        await raw.hear(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 65_536):
            writer.write(b"x" * 65_536)
            await writer.drain()
        sent.set()

    async with raw_server(script) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)
        first = await answer.piece()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await sent.wait()
        assert len(first) + sum(map(len, await body_of(answer))) == size


async def test_a_header_with_a_lines_end_inside_is_not_sent(relay):
    async with raw_server(answering(SHORT)) as raw:
        request = RelayRequest(method="POST", path="/api/chat", silence_s=5, headers=(("x-a", "b\r\nx-c: d"),))
        with pytest.raises(RelayFailed) as caught:
            await relay.open(endpoint=raw.url, request=request)

    assert (caught.value.trouble, caught.value.was_sent, raw.heard) == (Trouble.BAD_ADDRESS, False, [])
