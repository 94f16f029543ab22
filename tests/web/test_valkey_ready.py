"""Valkey is ready when it serves commands, not when it accepts connections."""

import asyncio

import pytest

from kubemoot_web.management.programs import answers_ping


@pytest.mark.parametrize(
    ("answer", "is_ready"),
    [
        (b"+PONG\r\n", True),
        (b"-LOADING Valkey is loading the dataset in memory\r\n", False),
        (b"", False),
    ],
    ids=["serves", "reads its files", "hangs up"],
)
async def test_only_a_server_that_serves_is_ready(tmp_path, answer, is_ready):
    """A second start on a folder with much in it stumbled over the server that was still reading."""

    async def reply(reader, writer):
        assert await reader.readline() == b"PING\r\n"
        writer.write(answer)
        writer.close()

    async with await asyncio.start_unix_server(reply, tmp_path / "v.sock"):
        assert await answers_ping(path=tmp_path / "v.sock") is is_ready


async def test_a_server_that_is_not_there_is_not_ready(tmp_path):
    assert not await answers_ping(path=tmp_path / "v.sock")
