"""A server on a raw socket that answers each connection by a script, and remembers what it was sent."""

import asyncio
from contextlib import asynccontextmanager


class RawServer:
    """Answers each connection with a script, and remembers what it was sent."""

    def __init__(self, script):
        self.script = script
        self.heard = []
        self.connections = 0
        self.requests = asyncio.Semaphore(0)
        self.closed_by_client = asyncio.Event()
        self.url = ""

    async def handle(self, reader, writer):
        self.connections += 1
        try:
            await self.script(self, reader, writer)
        except ConnectionError:
            self.closed_by_client.set()
        finally:
            writer.close()

    async def hear(self, reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heard.append(head)
        self.requests.release()

    async def heard_from(self, count):
        async with asyncio.timeout(10):
            for _ in range(count):
                await self.requests.acquire()


@asynccontextmanager
async def raw_server(script):
    raw = RawServer(script)
    server = await asyncio.start_server(raw.handle, "127.0.0.1", 0)
    raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield raw


def answering(answer):
    async def script(raw, reader, writer):
        await raw.hear(reader)
        writer.write(answer)
        await writer.drain()

    return script
