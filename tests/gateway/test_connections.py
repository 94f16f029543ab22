"""Connections as clients make them: with offers of other protocols, and with heads that never end."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from kubemoot_web.gateway import connections
from kubemoot_web.gateway.connections import MOST_OF_A_HEAD, Connection
from kubemoot_web.management import programs

BODY = b'{"model": "qwen3:8b"}'
HEAD = b"POST /v1/chat/completions?beta=true HTTP/1.1\r\nhost: here\r\nauthorization: Bearer km_1\r\n"
OFFER = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
LENGTH = b"content-length: %d\r\n\r\n" % len(BODY)
CHUNKED = b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
PLAIN = {"host": "here", "authorization": "Bearer km_1", "content-length": str(len(BODY))}


async def echo(scope, receive, send) -> None:
    """Answer with what was understood; to `/slow` only when it is asked for."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["path"] == "/slow":
        await scope["state"]["go on"].wait()
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    said = repr((scope["method"], scope["path"], scope["query_string"], headers, body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(said))]})
    await send({"type": "http.response.body", "body": said})


class Wire(asyncio.Transport):
    """The other side of a connection: what was written to it, and whether it was hung up."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = asyncio.Event()

    def write(self, data: Any) -> None:
        """Keep what is written."""
        self.written += bytes(data)

    def close(self) -> None:
        """Hang up."""
        self.closed.set()

    def is_closing(self) -> bool:
        """Say whether it was hung up."""
        return self.closed.is_set()

    def pause_reading(self) -> None:
        """There is nothing to hold back."""

    def resume_reading(self) -> None:
        """There is nothing to hold back."""

    @property
    def answers(self) -> list[bytes]:
        """Everything that was answered."""
        return self.written.split(b"HTTP/1.1 ")[1:]


class Client:
    """A client that is connected."""

    def __init__(self) -> None:
        config = uvicorn.Config(echo, http=Connection, ws="none", log_config=None)
        config.load()
        self.go_on = asyncio.Event()
        self.wire = Wire()
        self.state = ServerState()
        self.connection = Connection(config=config, server_state=self.state, app_state={"go on": self.go_on})
        self.connection.connection_made(self.wire)

    async def told(self, *pieces: bytes) -> list[bytes]:
        """Send pieces one by one, as long as nobody hangs up; give what was answered once all is."""
        for piece in pieces:
            if not self.wire.is_closing():
                self.connection.data_received(piece)
        while self.state.tasks:
            await asyncio.gather(*self.state.tasks)
        return self.wire.answers

    async def hung_up(self) -> list[bytes]:
        """Wait until the other side hangs up."""
        async with asyncio.timeout(5):
            await self.wire.closed.wait()
        return self.wire.answers


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Connect."""
    connected = Client()
    yield connected
    connected.connection.connection_lost(None)


def understood(answer: bytes) -> tuple[str, str, bytes, dict[str, str], bytes]:
    """Read what the echo says."""
    method, path, query, headers, body = eval(answer.partition(b"\r\n\r\n")[2])
    return method, path, query, headers, body


@pytest.mark.parametrize(
    "pieces",
    [
        [HEAD + OFFER + LENGTH + BODY],
        [HEAD + OFFER + LENGTH, BODY],
        [HEAD[:20], HEAD[20:] + OFFER[:30], OFFER[30:] + LENGTH + BODY[:5], BODY[5:]],
        [HEAD + OFFER.replace(b"Upgrade,", b"upgrade,").replace(b"h2c", b"H2C") + LENGTH + BODY],
        [HEAD + LENGTH + BODY],
    ],
    ids=["in one piece", "head and body", "cut anywhere", "other letters", "no offer"],
)
async def test_a_body_behind_an_offer_of_another_protocol_arrives(client: Client, pieces: list[bytes]):
    """Java's own client, and what is built on it, offers HTTP/2 with every request; so does curl --http2."""
    (answer,) = await client.told(*pieces)

    assert understood(answer) == ("POST", "/v1/chat/completions", b"beta=true", PLAIN, BODY)


async def test_requests_with_offers_follow_each_other_on_one_connection(client: Client):
    first, second = await client.told(HEAD + OFFER + LENGTH + BODY + HEAD + OFFER + CHUNKED)

    assert understood(first)[4] == understood(second)[4] == BODY
    assert understood(second)[3]["transfer-encoding"] == "chunked"


async def test_however_many_requests_with_offers_arrive_at_once(client: Client):
    """Each was read inside the one before: some hundreds of them in one packet ended the connection with a trace."""
    count = 1500

    answers = await client.told((HEAD + OFFER + LENGTH + BODY) * count)

    while len(answers) < count and client.state.tasks:
        answers = await client.told()
    assert len(answers) == count
    assert {understood(answer)[4] for answer in answers} == {BODY}


async def test_what_else_connection_says_is_kept(client: Client):
    (answer,) = await client.told(HEAD + OFFER.replace(b"Upgrade,", b"close, Upgrade,") + LENGTH + BODY)

    assert understood(answer)[3]["connection"] == "close"


async def test_no_tunnel_is_opened(client: Client):
    (answer,) = await client.told(b"CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere:443\r\n\r\n")

    assert answer.startswith(b"400 ")


async def test_a_head_that_never_ends_is_given_up_before_it_takes_memory():
    for endless in (b"GET /" + b"a" * MOST_OF_A_HEAD, HEAD + b"x: a\r\n" * (MOST_OF_A_HEAD // 6)):
        client = Client()
        pieces = [endless[at : at + 16_384] for at in range(0, len(endless), 16_384)]
        (answer,) = await client.told(*pieces, b"a" * 16_384, b"a" * 16_384)

        assert answer.startswith(b"431 ")


async def test_long_heads_and_long_bodies_are_not_taken_for_an_endless_head(client: Client):
    """What counts is one head: neither those before it, nor the body in whose last piece it begins."""
    large = b"x: " + b"a" * (MOST_OF_A_HEAD // 2) + b"\r\n"
    body = b"b" * (4 * MOST_OF_A_HEAD)
    length = b"content-length: %d\r\n\r\n" % len(body)

    answers = await client.told(HEAD, large, length, body + HEAD, large + length + body + HEAD, large, LENGTH, BODY)

    assert [understood(answer)[4] for answer in answers] == [body, body, BODY]


async def test_a_head_that_has_arrived_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "LONGEST_HEAD_S", 0.0)
    client = Client()

    await client.told(HEAD[:20], HEAD[20:] + LENGTH + BODY)
    for _ in range(20):
        await asyncio.sleep(0)

    assert not client.wire.is_closing()


async def test_who_never_ends_a_head_is_sent_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "LONGEST_HEAD_S", 0.0)
    for pieces, statuses in (((HEAD,), [b"408 "]), ((HEAD + LENGTH + BODY, HEAD), [b"200 ", b"408 "])):
        client = Client()
        await client.told(*pieces)

        assert [answer[:4] for answer in await client.hung_up()] == statuses


async def test_who_never_says_anything_is_sent_away_without_a_word(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "LONGEST_HEAD_S", 0.0)

    assert await Client().hung_up() == []


async def test_a_head_that_comes_slowly_cuts_off_no_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "LONGEST_HEAD_S", 0.0)
    client = Client()
    client.connection.data_received(b"GET /slow HTTP/1.1\r\nhost: here\r\n\r\n")
    client.connection.data_received(HEAD)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not client.wire.is_closing()

    client.go_on.set()

    assert [answer[:4] for answer in await client.hung_up()] == [b"200 ", b"408 "]


async def test_what_is_no_request_is_refused_and_never_logged(client: Client, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        (answer,) = await client.told(b"a secret, and not HTTP\r\n\r\n")

    assert answer.startswith(b"400 ")
    assert "secret" not in caplog.text


def test_the_web_process_is_started_with_these_connections():
    command = programs.web(host="127.0.0.1", port=1, environment={}).command

    assert command[command.index("--http") + 1] == f"{Connection.__module__}:{Connection.__name__}"
