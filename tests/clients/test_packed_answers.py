"""Packed answers that are no answers: they are broken, and take no memory."""

import gzip

import pytest

from providers.clients.engine_answer import MOST_UNPACKED
from providers.clients.relay import RelayClient
from providers.core.engines.base import Trouble
from providers.core.relaying import RelayFailed, RelayRequest
from tests.fakes.raw_server import answering, raw_server

ASK = RelayRequest(method="POST", path="/api/chat", silence_s=5, body=b"{}")


async def unpacked(answer):
    """Read an answer to its end; give what came."""
    got = b""
    try:
        while piece := await answer.piece():
            got += piece
    except RelayFailed as failed:
        return got, failed.trouble
    return got, None


@pytest.mark.parametrize(
    ("packed", "most"),
    [
        (gzip.compress(bytes(MOST_UNPACKED + 1)), 0),
        (gzip.compress(b"{}") + b"more", 0),
        (gzip.compress(b"{}")[:-1], 2),
    ],
    ids=["a bomb", "more behind its end", "cut"],
)
async def test_what_no_engine_would_pack_is_broken(packed, most):
    relay = RelayClient()
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(packed)}\r\n\r\n".encode()
    async with raw_server(answering(head + packed)) as raw:
        answer = await relay.open(endpoint=raw.url, request=ASK)
        got, trouble = await unpacked(answer)
    await relay.close()

    assert (len(got), trouble) == (most, Trouble.BROKEN)
