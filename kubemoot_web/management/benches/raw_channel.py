"""The floor of every message between processes: a bare publish in one, heard by a bare subscriber in another."""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

MS = 1000.0
CHANNEL = b"bench"
PAUSE_S = 0.002


def publish_hops(*, path: Path, count: int) -> list[float]:
    """Publish so many messages, one at a time, and give how long each took to be heard, in ms."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    listener = context.Process(target=_listen, args=(there, path, count), daemon=True)
    listener.start()
    try:
        here.recv()
        sent = asyncio.run(_publish(path, count))
        heard: list[float] = here.recv()
    finally:
        listener.kill()
        listener.join()
    return [(late - early) * MS for early, late in zip(sent, heard, strict=True)]


async def _publish(path: Path, count: int) -> list[float]:
    reader, writer = await asyncio.open_unix_connection(str(path))
    sent = []
    for _ in range(count):
        await asyncio.sleep(PAUSE_S)
        sent.append(monotonic())
        writer.write(_command(b"PUBLISH", CHANNEL, b"x"))
        await reader.readline()
    writer.close()
    return sent


def _listen(pipe: Connection, path: Path, count: int) -> None:
    asyncio.run(_hear(pipe, path, count))


async def _hear(pipe: Connection, path: Path, count: int) -> None:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(_command(b"SUBSCRIBE", CHANNEL))
    await reader.readuntil(b":1\r\n")
    pipe.send("listening")
    heard = []
    for _ in range(count):
        await reader.readuntil(b"$1\r\nx\r\n")
        heard.append(monotonic())
    pipe.send(heard)
    writer.close()


def _command(*parts: bytes) -> bytes:
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
