"""Keys of engines: read from files, sent to the engine they are for, and told to nobody else."""

import pytest

from providers.clients.engine import EngineHttp
from providers.clients.relay import RelayClient
from providers.clients.secret_files import SecretFiles
from providers.core.engines.base import HttpCall, HttpReply, Trouble
from providers.core.relaying import RelayFailed, RelayRequest
from tests.fakes.raw_server import answering, raw_server

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
CALL = HttpCall(method="GET", path="/v1/models", timeout_s=5.0, secret="rack/token")
REQUEST = RelayRequest(method="POST", path="/v1/chat/completions", silence_s=5, body=b"{}", secret="rack/token")


class Clock:
    """Stands still until it is told the time."""

    def __init__(self):
        self.at = 0.0

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def files(tmp_path, clock):
    return SecretFiles(folder=tmp_path, clock=clock)


def put(folder, name, content):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"s3cret", "s3cret"),
        (b"s3cret\n", "s3cret"),
        (b"", None),
        (b"\n", None),
        (b"two\nlines", None),
        ("schlüssel".encode(), None),
        (b"x" * 8192, "x" * 8192),
        (b"x" * 8193, None),
    ],
)
def test_a_key_is_what_its_file_holds_where_that_fits_into_a_header(tmp_path, files, content, key):
    put(tmp_path, "rack/token", content)

    assert files.key(secret="rack/token") == key


def test_a_key_of_another_namespace_lies_one_folder_deeper(tmp_path, files):
    put(tmp_path, "team-b/rack/token", b"theirs")

    assert files.key(secret="team-b/rack/token") == "theirs"
    assert files.key(secret="rack/token") is None


@pytest.mark.parametrize("secret", ["../outside", "rack/../../outside", "rack/.", "/outside", "rack//token", ""])
def test_nothing_outside_the_folder_is_ever_read(tmp_path, clock, secret):
    (tmp_path / "outside").write_text("secret")
    folder = tmp_path / "secrets"
    put(folder, "rack/token", b"key")

    assert SecretFiles(folder=folder, clock=clock).key(secret=secret) is None


def test_a_key_that_is_changed_is_used_within_seconds(tmp_path, files, clock):
    put(tmp_path, "rack/token", b"old")
    assert files.key(secret="rack/token") == "old"
    put(tmp_path, "rack/token", b"new")

    assert files.key(secret="rack/token") == "old"
    clock.at = 5.0
    assert files.key(secret="rack/token") == "new"
    (tmp_path / "rack/token").unlink()
    clock.at = 10.0
    assert files.key(secret="rack/token") is None


async def test_a_question_carries_the_key_that_it_names(tmp_path, files):
    put(tmp_path, "rack/token", b"s3cret")
    async with raw_server(answering(HELLO)) as server, EngineHttp(secrets=files) as door:
        await door.send(endpoint=server.url, call=CALL)

    assert "authorization: bearer s3cret\r\n" in server.heard[0].lower()


async def test_a_clients_call_carries_the_key_that_it_names(tmp_path, files):
    put(tmp_path, "rack/token", b"s3cret")
    relay = RelayClient(secrets=files)
    async with raw_server(answering(HELLO)) as server:
        answer = await relay.open(endpoint=server.url, request=REQUEST)
        answer.close()
    await relay.close()

    assert "authorization: Bearer s3cret\r\n" in server.heard[0]


@pytest.mark.parametrize("has_folder", [True, False])
async def test_without_the_key_nothing_is_sent(files, has_folder):
    secrets = files if has_folder else None
    relay = RelayClient(secrets=secrets)
    async with raw_server(answering(HELLO)) as server, EngineHttp(secrets=secrets) as door:
        assert await door.send(endpoint=server.url, call=CALL) == HttpReply(trouble=Trouble.NO_KEY, secret="rack/token")
        with pytest.raises(RelayFailed) as failed:
            await relay.open(endpoint=server.url, request=REQUEST)
    await relay.close()

    assert (failed.value.trouble, failed.value.was_sent, server.heard) == (Trouble.NO_KEY, False, [])
