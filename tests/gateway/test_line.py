"""A client's request on its way in."""

import asyncio

import pytest

from kubemoot_web.gateway import line as lines
from kubemoot_web.gateway.line import BodyTooLarge, BodyTooSlow, ClientGone, Line


def line_of(*messages: dict, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Line:
    """Make a line on which these messages arrive, and then nothing more."""
    arriving = list(messages)

    async def receive() -> dict:
        if not arriving:
            await asyncio.Event().wait()
        return arriving.pop(0)

    async def send(message: dict) -> None:
        raise AssertionError("nothing is answered here")

    return Line(scope={"headers": list(headers)}, receive=receive, send=send)


def piece(body: bytes, *, more: bool = True) -> dict:
    """Make a piece of a body."""
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_arrives_in_pieces():
    assert await line_of(piece(b"ab"), piece(b""), piece(b"c", more=False)).body(limit=3) == b"abc"


async def test_a_body_that_says_it_is_too_large_is_not_read():
    with pytest.raises(BodyTooLarge):
        await line_of(headers=((b"content-length", b"4"),)).body(limit=3)


async def test_a_body_that_turns_out_too_large_is_read_no_further():
    with pytest.raises(BodyTooLarge):
        await line_of(piece(b"ab"), piece(b"cd")).body(limit=3)


async def test_who_leaves_before_its_body_is_whole_is_gone():
    with pytest.raises(ClientGone):
        await line_of(piece(b"ab"), {"type": "http.disconnect"}).body(limit=3)


async def test_who_sends_its_body_without_an_end_is_not_waited_for_for_ever(monkeypatch):
    """Each such line held what had arrived of its body, up to the largest, for as long as it liked."""
    monkeypatch.setattr(lines, "LONGEST_UPLOAD_S", 0.05)

    with pytest.raises(BodyTooSlow):
        await asyncio.wait_for(line_of(piece(b"ab")).body(limit=3), 5)
