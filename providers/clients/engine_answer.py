"""An engine's answer on its way: filled by a connection, emptied by whoever asked.

House rules: whoever reads slowly makes the engine wait; an engine that is silent for too long while somebody waits for
it is given up; what came before the end is read before the trouble is told.
"""

import asyncio
import zlib
from typing import Final, Protocol

from providers.core.engines.base import Trouble
from providers.core.relaying import Headers, RelayFailed

MOST_UNREAD: Final = 64 * 1024
"""So much of an answer is kept for a reader; then the engine waits."""
NOT_PASSED_ON: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-encoding",
        "content-length",
        "server",
        "date",
        "set-cookie",
    }
)
"""Of one connection alone, or no longer true once the body was unpacked, or nobody's business behind a gateway."""
PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})
GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
MOST_UNPACKED: Final = 16 * 1024 * 1024
"""So much may come out of one piece: nothing that a model says is packed so well."""


class Source(Protocol):
    """Where an answer comes from."""

    def hold(self, *, back: bool) -> None:
        """Let the engine wait, or go on."""
        ...

    def close(self) -> None:
        """End the connection at once."""
        ...


class EngineAnswer:
    """An answer on its way. `headers` are lower-case; `status` is 0 until the head is here."""

    __slots__ = (
        "_is_held",
        "_is_over",
        "_loop",
        "_packed",
        "_pieces",
        "_silence_s",
        "_source",
        "_trouble",
        "_unread",
        "_waiting",
        "_watch",
        "headers",
        "heard_at",
        "lasts_until_close",
        "status",
    )

    def __init__(self, *, source: Source, loop: asyncio.AbstractEventLoop, silence_s: float) -> None:
        self.status = 0
        self.headers: Headers = ()
        self.heard_at = loop.time()
        self.lasts_until_close = False
        self._source: Source | None = source
        self._loop = loop
        self._silence_s = silence_s
        self._pieces: list[bytes] = []
        self._unread = 0
        self._is_held = False
        self._is_over = False
        self._trouble: Trouble | None = None
        self._packed: zlib._Decompress | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None

    async def begun(self) -> None:
        """Wait for the head.

        Raises:
            RelayFailed: it did not come.
        """
        while not self.status:
            if self._is_over:
                raise RelayFailed(trouble=self._trouble or Trouble.BROKEN, was_sent=True)
            await self._more()

    async def piece(self) -> bytes:
        """Wait for the next piece of the body; empty at its end.

        Raises:
            RelayFailed: the engine died, or fell silent for too long.
        """
        while not self._pieces:
            if self._trouble is not None:
                raise RelayFailed(trouble=self._trouble, was_sent=True)
            if self._is_over:
                return b""
            await self._more()
        pieces, self._pieces, self._unread = self._pieces, [], 0
        if self._is_held and self._source is not None:
            self._is_held = False
            self._source.hold(back=False)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Let go of the engine at once; a connection whose answer was read to its end is kept for the next call."""
        source = self._source
        if source is not None:
            self.end(trouble=Trouble.BROKEN)
            source.close()

    def begin(self, *, status: int, head: list[tuple[bytes, bytes]]) -> None:
        """Take in the head."""
        lower = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in head]
        known = dict(lower)
        self.lasts_until_close = "content-length" not in known and "transfer-encoding" not in known
        packing = known.get("content-encoding", "identity").strip().lower()
        if packing in PACKED:
            self._packed = zlib.decompressobj(GZIP_OR_ZLIB)
        elif packing not in ("", "identity"):
            raise ValueError("packed in a way that nobody asked for")
        self.headers = tuple((name, value) for name, value in lower if name not in NOT_PASSED_ON)
        self.status = status
        self._wake()

    def take(self, data: bytes) -> None:
        """Take in a part of the body.

        Raises:
            ValueError: what is packed holds far too much, or goes on behind its end.
        """
        if self._packed is not None:
            data = self._packed.decompress(data, MOST_UNPACKED)
            if self._packed.unconsumed_tail or self._packed.unused_data:
                raise ValueError("packed in a way that nobody would pack an answer")
        if not data:
            return
        self._pieces.append(data)
        self._unread += len(data)
        if self._unread > MOST_UNREAD and not self._is_held and self._source is not None:
            self._is_held = True
            self._source.hold(back=True)
        self._wake()

    def end(self, *, trouble: Trouble | None) -> None:
        """Be over, whole or not; the connection is no longer this answer's."""
        if self._is_over:
            return
        if trouble is None and self._packed is not None and not self._packed.eof:
            trouble = Trouble.BROKEN
        self._is_over, self._trouble = True, trouble
        if self._is_held and self._source is not None:
            self._source.hold(back=False)
        self._source = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._wake()

    async def _more(self) -> None:
        """Wait until something happens."""
        self.heard_at = self._loop.time()  # the engine is not to blame for the time that nobody read
        if self._watch is None and self._silence_s:
            self._watch = self._loop.call_later(self._silence_s, self._look)
        self._waiting = self._loop.create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _look(self) -> None:
        """See whether the engine has been silent for too long while somebody waited."""
        self._watch = None
        if self._waiting is None or self._is_over:
            return
        left_s = self.heard_at + self._silence_s - self._loop.time()
        if left_s > 0:
            self._watch = self._loop.call_later(left_s, self._look)
            return
        source = self._source
        self.end(trouble=Trouble.TIMED_OUT)
        if source is not None:
            source.close()
