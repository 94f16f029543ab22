"""The floor of every board: an ASGI application that sends what it is told to everybody who is connected."""

from typing import Any

TELL = "/tell/"
"""Whoever connects here is not sent anything: it says what the others are sent."""

_everybody: set[Any] = set()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serve one connection."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await receive()
    await send({"type": "websocket.accept"})
    if scope["path"] == TELL:
        while (message := await receive())["type"] == "websocket.receive":
            told = {"type": "websocket.send", "text": message["text"]}
            for each in tuple(_everybody):
                await each(told)
        return
    await send({"type": "websocket.send", "text": "hello"})
    _everybody.add(send)
    while (await receive())["type"] == "websocket.receive":
        pass
    _everybody.discard(send)
