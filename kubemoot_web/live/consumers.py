"""WebSocket consumers: authorise, send what is new, listen to nothing."""

import asyncio
import logging
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from kubemoot_web.access.socket import principal_of_socket
from kubemoot_web.live.hub import hub_of_loop
from scheduler.ports import LedgerUnavailable

log = logging.getLogger(__name__)

SIGN_IN = 4401
NO_SUCH_SOCKET = 4404
TOO_TALKATIVE = 1008
STUMBLED = 1011
TRY_LATER = 1013


LOUDEST = 4096
MOST_WORDS = 100


class BoardConsumer(AsyncWebsocketConsumer):  # type: ignore[misc] # channels has no types
    """The live board: everything at first, then whatever changes.

    A board has nothing to say to us: what comes in is not looked at, and a socket that talks much is closed. No channel
    layer is used; the design page says why.
    """

    channel_layer_alias = "none"
    recheck_s = 60.0
    _sending: asyncio.Task[None] | None = None
    _words = 0

    async def connect(self) -> None:
        """Let people in who are signed in."""
        if await principal_of_socket(self.scope) is None:
            await self.close(code=SIGN_IN)
            return
        await self.accept()
        self._sending = asyncio.create_task(self._send_on())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignore it, and show out who talks on and on."""
        self._words += 1
        if self._words > MOST_WORDS or len(text_data or bytes_data or "") > LOUDEST:
            await self._stop()
            await self.close(code=TOO_TALKATIVE)

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 - the framework's hook
        """Stop sending."""
        await self._stop()

    async def _stop(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send_on(self) -> None:
        """Send until the session ends; a browser whose socket is closed otherwise comes back by itself."""
        try:
            code = await self._send_until_signed_out()
        except LedgerUnavailable:
            code = TRY_LATER
        except Exception:  # a silent board would look like a quiet cluster: end the socket, it comes back
            log.exception("board_socket_failed")
            code = STUMBLED
        await self.close(code=code)

    async def _send_until_signed_out(self) -> int:
        clock = asyncio.get_running_loop().time
        checked = clock()
        hub = await hub_of_loop()
        async with hub.open() as reader:
            while True:
                html = await reader.next()
                if clock() - checked >= self.recheck_s:
                    if await principal_of_socket(self.scope) is None:
                        return SIGN_IN
                    checked = clock()
                await self.send(text_data=html)


class NoSuchSocket(AsyncWebsocketConsumer):  # type: ignore[misc] # as above
    """Refuses every other address."""

    channel_layer_alias = "none"

    async def websocket_connect(self, message: dict[str, Any]) -> None:  # noqa: ARG002 - the framework's hook
        """Refuse."""
        await self.close(code=NO_SUCH_SOCKET)
