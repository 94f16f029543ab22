"""Many open boards in a process of their own: real WebSocket connections that note when each step reached them.

House rules: they cost little, for they run beside what is measured; they ask for compression as browsers do, but for
the slow ones: of what is compressed, minutes fit into the buffers on the way.
"""

import asyncio
import multiprocessing
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic
from typing import cast

import uvloop
from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from kubemoot_web.management.benches.board_life import STEP

OPENS_AT_ONCE = 20
OPENS_WITHIN_S = 120.0
ARRIVES_WITHIN_S = 10.0
THIN_BUFFER = 4096
THIN_SEGMENT = 536
"""A line so thin that what is not read soon fills the server's buffers: else the kernel reads for a slow reader."""

Arrivals = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where boards are open, and what their browsers send along."""

    host: str
    port: int
    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What reached the boards since they were last asked.

    `arrivals` are, board by board, the newest step of each message and when it came; `slow` the same of the boards that
    did not read until now, `messages` what one of the others got.
    """

    arrivals: tuple[Arrivals, ...]
    slow: tuple[Arrivals, ...]
    messages: tuple[str, ...]


class _Board(asyncio.Protocol):
    """One open board."""

    def __init__(self, *, address: Address, is_slow: bool) -> None:
        self.first = asyncio.get_running_loop().create_future()
        self.arrivals: list[tuple[int, float]] = []
        self.messages: list[bytes] = []
        self.keeps_messages = False
        self.is_slow = is_slow
        self.problem = ""
        self.transport: asyncio.Transport | None = None
        self._address = address
        uri = parse_uri(f"ws://{address.host}:{address.port}{address.path}")
        compression = None if is_slow else [ClientPerMessageDeflateFactory(client_max_window_bits=True)]
        self._protocol = ClientProtocol(uri, extensions=compression)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the board."""
        self.transport = cast("asyncio.Transport", transport)  # the loop's own class is none of asyncio's
        request = self._protocol.connect()
        request.headers.update(self._address.headers)
        self._protocol.send_request(request)
        self._answer()

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Response):
                self._handshake_over()
            elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._message(bytes(event.data))
        self._answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remember that it is over: a board that was thrown out must not look quick."""
        code = self._protocol.close_rcvd.code if self._protocol.close_rcvd else None
        self.problem = f"a board lost its connection: {exc or code}"
        if not self.first.done():
            self.first.set_exception(RuntimeError(self.problem))

    def read_on(self) -> None:
        """Read what was sent meanwhile, and whatever comes."""
        assert self.transport is not None
        self.transport.resume_reading()

    def take_arrivals(self) -> Arrivals:
        """Give what arrived, and forget it."""
        arrivals = tuple(self.arrivals)
        self.arrivals.clear()
        return arrivals

    def _handshake_over(self) -> None:
        if self._protocol.handshake_exc is not None:
            self.first.set_exception(RuntimeError(f"a board was not let in: {self._protocol.handshake_exc}"))
        elif self.is_slow:
            assert self.transport is not None
            self.transport.pause_reading()
            self.first.set_result(None)

    def _message(self, text: bytes) -> None:
        if not self.first.done():
            self.first.set_result(None)
        step = newest_step(text)
        if step is not None:
            self.arrivals.append((step, monotonic()))
            if self.keeps_messages:
                self.messages.append(text)

    def _answer(self) -> None:
        assert self.transport is not None
        for data in self._protocol.data_to_send():
            if data:
                self.transport.write(data)


@contextmanager
def watchers(*, address: Address, boards: int, slow: int) -> Iterator["Watchers"]:
    """Open so many boards, and some more that never read; the others have had their first picture when it begins."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_main, args=(there, address, boards, slow), daemon=True)
    process.start()
    there.close()
    try:
        watching = Watchers(pipe=here)
        watching.wait()
        yield watching
    finally:
        process.kill()
        process.join()


class Watchers:
    """The boards, as seen from the process that measures."""

    def __init__(self, *, pipe: Connection) -> None:
        self._pipe = pipe

    def wait(self) -> None:
        """Wait until all boards are open.

        Raises:
            RuntimeError: one of them could not be opened.
        """
        self._receive()

    def forget(self, *, last: int) -> None:
        """Wait until step `last` has reached every board that reads, and forget what was seen until then.

        Raises:
            RuntimeError: it did not reach one of them.
        """
        self._pipe.send((last, False))
        self._receive()

    def seen(self, *, last: int) -> Seen:
        """Wait until step `last` has reached every board, and at last the slow ones, and give what was seen.

        Raises:
            RuntimeError: it did not reach one of them.
        """
        self._pipe.send((last, True))
        seen = self._receive()
        assert isinstance(seen, Seen)
        return seen

    def _receive(self) -> object:
        try:
            answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError("the boards' process ended early; what it said stands above") from None
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer


def newest_step(message: bytes) -> int | None:
    """Say from which step a message is; None where it shows none."""
    return max(map(int, STEP.findall(message)), default=None)


def _main(pipe: Connection, address: Address, boards: int, slow: int) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_watch(pipe, address, boards, slow))
        except (RuntimeError, OSError, TimeoutError) as problem:
            pipe.send(str(problem) or type(problem).__name__)


async def _watch(pipe: Connection, address: Address, boards: int, slow: int) -> None:
    turns = asyncio.Semaphore(OPENS_AT_ONCE)

    async def opened(*, is_slow: bool) -> _Board:
        async with turns:
            return await _open(address=address, is_slow=is_slow)

    async with asyncio.timeout(OPENS_WITHIN_S):
        everybody = await asyncio.gather(*(opened(is_slow=number >= boards) for number in range(boards + slow)))
    readers, sleepers = everybody[:boards], everybody[boards:]
    readers[0].keeps_messages = True
    pipe.send(None)
    while True:
        last, read_all = await asyncio.to_thread(pipe.recv)
        await _until_reached(readers, last=last)
        if read_all:
            for board in sleepers:
                board.read_on()
            await _until_reached(sleepers, last=last)
        pipe.send(_seen(readers=readers, sleepers=sleepers))


async def _open(*, address: Address, is_slow: bool) -> _Board:
    line = socket.socket()
    line.setblocking(False)
    if is_slow:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, THIN_BUFFER)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, THIN_SEGMENT)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(line, (address.host, address.port))
    _, board = await loop.create_connection(lambda: _Board(address=address, is_slow=is_slow), sock=line)
    await board.first
    return board


async def _until_reached(readers: list[_Board], *, last: int) -> None:
    async with asyncio.timeout(ARRIVES_WITHIN_S):
        for board in readers:
            while not board.arrivals or board.arrivals[-1][0] < last:
                if board.problem:
                    raise RuntimeError(board.problem)
                await asyncio.sleep(0.01)


def _seen(*, readers: list[_Board], sleepers: list[_Board]) -> Seen:
    seen = Seen(
        arrivals=tuple(board.take_arrivals() for board in readers),
        slow=tuple(board.take_arrivals() for board in sleepers),
        messages=tuple(message.decode() for message in readers[0].messages),
    )
    readers[0].messages.clear()
    return seen
