"""Streams that are looked at piece by piece as they come, by bare protocols; and callers who leave in the middle."""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import cast

from kubemoot_web.management.benches.apart import HOST
from kubemoot_web.management.benches.http_callers import END, GIVES_UP_S, MS, Target, request
from kubemoot_web.management.benches.own_valkey import ledger_on

OPENS_AT_ONCE = 50
STAYS_S = 0.1
"""How long a caller listens before it leaves."""
LONG = 10_000
PAUSE_MS = 20

_pieces = re.compile(rb'"content":\s*"(\d+) (\d+\.\d+) "').findall


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of many streams: how late each piece was, and how many streams were not all there, in order."""

    late_ms: tuple[float, ...]
    spoilt: int


class Listener(asyncio.Protocol):
    """One connection with one stream. `late_s` has one entry for each piece: since the engine sent it."""

    def __init__(self) -> None:
        """Nothing came yet."""
        loop = asyncio.get_running_loop()
        self.late_s: list[float] = []
        self.is_in_order = True
        self.transport: asyncio.Transport | None = None
        self.first: asyncio.Future[None] = loop.create_future()
        self.over: asyncio.Future[None] = loop.create_future()
        self._begins = b""
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Look at what came."""
        now = monotonic()
        self._begins = self._begins or data[:400]
        held = self._held + data
        cut = held.rfind(b"\n") + 1
        lines, self._held = held[:cut], held[cut:]
        for number, sent_at in _pieces(lines):
            self.is_in_order &= int(number) == len(self.late_s)
            self.late_s.append(now - float(sent_at))
        if self.late_s and not self.first.done():
            self.first.set_result(None)
        if lines.endswith(END) and not self.over.done():
            self.over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail whoever still waits."""
        for waiting in (self.first, self.over):
            if not waiting.done():
                waiting.set_exception(RuntimeError(f"a stream was lost ({exc}), which began {self._begins!r}"))
                waiting.exception()  # nobody may be waiting


async def listen(target: Target, streams: int, tokens: int, pause_ms: int) -> Heard:
    """Open so many streams, read each to its end, and look at every piece."""
    asked = request(target, tokens=tokens, stream=True, pause_ms=pause_ms)
    turns = asyncio.Semaphore(OPENS_AT_ONCE)

    async def one() -> Listener:
        async with turns:
            listener = await _opened(target, asked)
            await listener.first
        await listener.over
        assert listener.transport is not None
        listener.transport.abort()
        return listener

    async with asyncio.timeout(tokens * pause_ms / MS + streams / OPENS_AT_ONCE + GIVES_UP_S):
        heard = await asyncio.gather(*(one() for _ in range(streams)))
    whole = [each for each in heard if each.is_in_order and len(each.late_s) == tokens]
    return Heard(
        late_ms=tuple(late * MS for each in heard for late in each.late_s),
        spoilt=len(heard) - len(whole),
    )


async def leave(target: Target, valkey: Path, times: int) -> list[float]:
    """Leave in the middle of a stream, again and again; give the milliseconds until the ledger has the slot back."""
    asked = request(target, tokens=LONG, stream=True, pause_ms=PAUSE_MS)
    ledger = ledger_on(valkey)
    await ledger.start()
    took = []
    try:
        async with asyncio.timeout(times + GIVES_UP_S):
            for _ in range(times):
                listener = await _opened(target, asked)
                await listener.first
                await asyncio.sleep(STAYS_S)
                if not ledger.replica.tickets:
                    raise RuntimeError("a stream runs, and nobody holds a slot")
                assert listener.transport is not None
                left_at = monotonic()
                listener.transport.abort()
                while ledger.replica.tickets:
                    await ledger.wait_for_change(after=ledger.replica.version, timeout_s=1)
                took.append((monotonic() - left_at) * MS)
    finally:
        await ledger.close()
    return took


async def _opened(target: Target, asked: bytes) -> Listener:
    _, listener = await asyncio.get_running_loop().create_connection(Listener, HOST, target.port)
    assert listener.transport is not None
    listener.transport.write(asked)
    return listener
