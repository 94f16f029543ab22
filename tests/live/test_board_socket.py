"""The board's socket, through the whole application and on a real ledger."""

import asyncio

import pytest
import redis
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from kubemoot_web.asgi import application
from kubemoot_web.live import hub
from kubemoot_web.live.consumers import LOUDEST, MOST_WORDS, NO_SUCH_SOCKET, SIGN_IN, TOO_TALKATIVE, BoardConsumer
from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from tests.board.views import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]


@pytest.fixture(autouse=True)
def quick_pulse(monkeypatch):
    """Let the hub say something often."""
    monkeypatch.setattr(hub, "PULSE_S", 0.1)
    monkeypatch.setattr(hub, "CLOCK_S", 0.2)


@pytest.fixture
async def runtime():
    """Give the loop's runtime, and let go of it afterwards."""
    yield await bootstrap.runtime()
    await bootstrap.close()


@pytest.fixture
async def person(runtime):
    """Sign somebody in."""
    client = Client()
    await client.aforce_login(await User.objects.acreate(username="ada"))
    return client


def socket_of(client: Client | None, path: str = "/ws/board/", origin: str | None = "http://localhost"):
    """Open a socket as the page of a browser does."""
    headers = [(b"host", b"localhost")]
    if origin:
        headers.append((b"origin", origin.encode()))
    if client:
        name = settings.SESSION_COOKIE_NAME
        headers.append((b"cookie", f"{name}={client.cookies[name].value}".encode()))
    return WebsocketCommunicator(application, path, headers=headers)


async def until(socket, text: str) -> str:
    """Read until a fragment says something."""
    async with asyncio.timeout(8):
        while True:
            html = await socket.receive_from(timeout=8)
            if text in html:
                return html


async def sees(runtime, phase: str = "ready") -> None:
    """Let a probe see gpu-1."""
    ledger = runtime.ledger
    await ledger.configure(servers=[record().config], footprints={}, weights={})
    probe = await ledger.probe_begin(server="gpu-1", lease_s=5)
    seen = ServerSeen(phase=phase, ready=phase == "ready", since=runtime.now(), probed_at=runtime.now())
    await ledger.probe_end(server="gpu-1", probe=probe, seen=seen)


@pytest.mark.parametrize(
    ("origin", "is_signed_in", "is_accepted"),
    [
        ("http://localhost", True, True),
        ("https://evil.example.net", True, False),
        (None, True, False),
        ("http://localhost", False, False),
    ],
    ids=["ours", "a foreign page", "no page at all", "nobody"],
)
async def test_only_our_own_page_of_somebody_signed_in_is_let_in(person, origin, is_signed_in, is_accepted):
    """C82: any site could open the socket in the user's name, and anonymous sockets joined."""
    socket = socket_of(person if is_signed_in else None, origin=origin)

    accepted, code = await socket.connect()

    assert accepted is is_accepted
    if origin == "http://localhost" and not is_signed_in:
        assert code == SIGN_IN
    if not accepted:
        assert await socket.receive_nothing()
    await socket.disconnect()


async def test_an_unknown_address_is_refused_quietly(person):
    assert await socket_of(person, path="/ws/elsewhere/").connect() == (False, NO_SUCH_SOCKET)


async def test_two_boards_see_a_change_of_the_ledger(runtime, person):
    one, other = socket_of(person), socket_of(person)
    assert (await one.connect())[0]
    assert (await other.connect())[0]
    await until(one, "No server yet")
    await until(other, "No server yet")

    await sees(runtime)

    assert 'id="server-gpu-1"' in await until(one, "Ready")
    assert 'id="server-gpu-1"' in await until(other, "Ready")
    await one.disconnect()
    await other.disconnect()


async def test_a_socket_that_comes_back_begins_with_everything_it_missed(runtime, person):
    first = socket_of(person)
    await first.connect()
    await until(first, "No server yet")
    await first.disconnect()

    await sees(runtime)
    await sees(runtime, phase="stale")
    again = socket_of(person)
    await again.connect()

    html = await again.receive_from(timeout=8)
    assert "Not answering" in html
    assert 'id="line"' in html
    assert 'id="decisions"' in html
    await again.disconnect()


async def test_a_ledger_that_began_anew_reaches_the_board_without_a_reload(runtime, person):
    """The server lost everything, as a restart without its files does; versions count from one again."""
    await sees(runtime)
    socket = socket_of(person)
    await socket.connect()
    await until(socket, "server-gpu-1")

    with redis.Redis.from_url(settings.REDIS_URL) as valkey:
        valkey.flushall()
    await runtime.ledger.configure(servers=[record("gpu-9").config], footprints={}, weights={})

    html = await until(socket, "server-gpu-9")
    assert 'id="server-gpu-1"' not in html
    await socket.disconnect()


async def test_a_session_that_ended_ends_its_socket(person, monkeypatch):
    monkeypatch.setattr(BoardConsumer, "recheck_s", 0.0)
    socket = socket_of(person)
    await socket.connect()
    await socket.receive_from(timeout=8)

    await person.alogout()

    async with asyncio.timeout(15):
        while (answer := await socket.receive_output(timeout=15))["type"] == "websocket.send":
            pass
    assert answer == {"type": "websocket.close", "code": SIGN_IN}


@pytest.mark.parametrize(
    ("words", "size", "is_closed"), [(MOST_WORDS, 10, False), (MOST_WORDS + 1, 10, True), (1, LOUDEST + 1, True)]
)
async def test_what_a_browser_says_is_ignored_and_bounded(person, words, size, is_closed):
    socket = socket_of(person)
    await socket.connect()
    await socket.receive_from(timeout=8)

    for _ in range(words):
        await socket.send_to(text_data="x" * size)

    if is_closed:
        async with asyncio.timeout(8):
            while (answer := await socket.receive_output(timeout=8))["type"] == "websocket.send":
                pass
        assert answer == {"type": "websocket.close", "code": TOO_TALKATIVE}
    else:
        assert 'id="pulse"' in await until(socket, "pulse"), "it goes on"
    await socket.disconnect()
