"""Callers that cost little: bare protocols that send ready bytes, and count and time what comes back."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import cast

from kubemoot_web.management.benches.apart import HOST

GIVES_UP_S = 20.0
MS = 1000.0
END = b"0\r\n\r\n"
"""The last chunk of an answer that did not say its length."""
PATH = "/v1/chat/completions"
MODEL = "hot:8b"

_length = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE).search


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whom calls go to."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)


def request(target: Target, *, tokens: int, stream: bool = False, pause_ms: int = 0) -> bytes:
    """Write a call."""
    wish = f'"stream":true,"seed":{pause_ms},' if stream else ""
    body = f'{{"model":"{MODEL}",{wish}"max_tokens":{tokens},"messages":[{{"role":"user","content":"hello"}}]}}'
    more = "".join(f"{name}: {value}\r\n" for name, value in target.headers.items())
    return (
        f"POST {PATH} HTTP/1.1\r\nhost: {HOST}:{target.port}\r\n{more}"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode()


def is_whole(answer: bytes) -> bool:
    """Say whether an answer is here to its end."""
    head_end = answer.find(b"\r\n\r\n")
    if head_end < 0:
        return False
    announced = _length(answer, 0, head_end)
    if announced is None:
        return answer.endswith(END)
    return len(answer) >= head_end + 4 + int(announced[1])


class Caller(asyncio.Protocol):
    """One connection, kept for the next call."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self.transport: asyncio.Transport | None = None
        self._answer = b""
        self._done: asyncio.Future[bytes] | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Gather an answer."""
        self._answer = self._answer + data if self._answer else data
        if self._done is not None and not self._done.done() and is_whole(self._answer):
            self._done.set_result(self._answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the call under way: an answer that was cut off must not look quick."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(RuntimeError(f"a connection was lost in the middle of a call: {exc}"))

    async def call(self, asked: bytes) -> float:
        """Send a call, wait for the end of its answer, and give the seconds that it took.

        Raises:
            RuntimeError: it was refused.
        """
        assert self.transport is not None
        self._answer, self._done = b"", self._loop.create_future()
        began = monotonic()
        self.transport.write(asked)
        answer = await self._done
        took = monotonic() - began
        if not answer.startswith(b"HTTP/1.1 200") or b"finish_reason" not in answer:
            raise RuntimeError(f"a call was refused: {answer[:400]!r}")
        return took


async def connected(target: Target) -> Caller:
    """Connect a caller."""
    _, caller = await asyncio.get_running_loop().create_connection(Caller, HOST, target.port)
    return caller


async def flat_out(target: Target, callers: int, seconds: float, tokens: int) -> tuple[int, float]:
    """Let so many callers call in turns; give how many calls were answered and how long it took."""
    asked = request(target, tokens=tokens)
    everybody = await asyncio.gather(*(connected(target) for _ in range(callers)))
    began = monotonic()

    async def work(caller: Caller) -> int:
        count = 0
        while monotonic() - began < seconds:
            await caller.call(asked)
            count += 1
        return count

    async with asyncio.timeout(seconds + GIVES_UP_S):
        counts = await asyncio.gather(*map(work, everybody))
    return sum(counts), monotonic() - began


async def at_a_pace(target: Target, per_s: float, seconds: float, tokens: int) -> Sequence[float]:
    """Begin a call so many times a second, whether others are under way or not; give the milliseconds of each."""
    asked = request(target, tokens=tokens)
    idle: list[Caller] = [await connected(target)]
    took: list[float] = []
    warm_up = max(1, int(per_s / 10))

    async def once() -> None:
        caller = idle.pop() if idle else await connected(target)
        took.append(await caller.call(asked) * MS)
        idle.append(caller)

    for _ in range(warm_up):
        await once()
    took.clear()
    began = monotonic()
    async with asyncio.timeout(seconds + GIVES_UP_S), asyncio.TaskGroup() as group:
        for number in range(int(per_s * seconds)):
            await asyncio.sleep(began + number / per_s - monotonic())
            group.create_task(once())
    return took
