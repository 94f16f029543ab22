"""One connection to Redis that many callers share: commands go out as they come, answers come back in order.

House rules: what is asked in one turn of the loop is sent in one piece; nothing waits longer than the time-out;
whatever goes wrong with the connection is `LedgerUnavailable`, and the next call connects anew. A call that failed
after it was sent may have been carried out: nothing is sent twice.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

from redis.asyncio.connection import Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from scheduler.ports import LedgerUnavailable
from scheduler.stores.ledger_functions import library
from scheduler.stores.resp import Answers, Part, packed

BROKEN = (RedisConnectionError, RedisTimeoutError, TimeoutError, OSError)
AWAY = ("LOADING ", "MASTERDOWN ", "READONLY ")
"""The server is there, but not (or no longer) the one that holds the ledger."""

UNKNOWN = "Function not found"
TOO_OLD = "unknown command"


class Link:
    """A pipelining connection. It belongs to the event loop that first calls it."""

    def __init__(self, *, url: str, timeout_s: float) -> None:
        settings: dict[str, Any] = dict(parse_url(url))
        self._kind = settings.pop("connection_class", Connection)
        settings.pop("max_connections", None)
        self._settings = settings | {
            "protocol": 2,
            "driver_info": None,
            "socket_connect_timeout": timeout_s,
            "retry": Retry(NoBackoff(), 0),
        }
        self._timeout_s = timeout_s
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()

    async def run(self, name: str, *, root: str, args: Iterable[Part]) -> Any:
        """Run one of the ledger's functions on its root key, teaching the library to a server that does not know it.

        Raises:
            LedgerUnavailable: the server cannot be reached, did not answer in time, or knows no functions at all.
        """
        command = ("FCALL", library().function(name), 1, root, *args)
        try:
            return await self.call(*command)
        except ResponseError as problem:
            if UNKNOWN in str(problem):
                await self.call("FUNCTION", "LOAD", "REPLACE", library().text)
            elif TOO_OLD in str(problem):
                raise LedgerUnavailable("it is too old: Kubemoot needs Redis 7 or later, or Valkey") from problem
            else:
                raise
        return await self.call(*command)

    async def call(self, *command: Part) -> Any:
        """Send a command and give its answer.

        Raises:
            LedgerUnavailable: the server cannot be reached, or did not answer in time.
        """
        wire = self._wire
        if wire is None or wire.is_broken:
            wire = await self._connect()
        return await wire.ask(packed(command))

    async def close(self) -> None:
        """Let go of the connection; calls under way fail."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.break_off(ConnectionError("closed"))
            await asyncio.sleep(0)  # the loop closes the socket in its next turn

    async def _connect(self) -> "Wire":
        async with self._connecting:
            if self._wire is not None and not self._wire.is_broken:
                return self._wire
            connection = self._kind(**self._settings)
            try:
                async with asyncio.timeout(self._timeout_s):
                    await connection.connect()
            except (*BROKEN, RedisError) as problem:
                await connection.disconnect(nowait=True)
                raise LedgerUnavailable(str(problem) or type(problem).__name__) from problem
            self._wire = Wire(connection=connection, timeout_s=self._timeout_s)
            return self._wire


class Wire(asyncio.Protocol):
    """A connection that has shaken hands, from then on read and written without streams in between."""

    def __init__(self, *, connection: Any, timeout_s: float) -> None:
        """Take a connection over from the library, which has seen to address, encryption, password and database."""
        self.is_broken = False
        self._connection = connection
        self._timeout_s = timeout_s
        self._transport: asyncio.Transport = connection._writer.transport
        self._loop = asyncio.get_running_loop()
        self._answers = Answers()
        self._pending: deque[asyncio.Future[Any]] = deque()
        self._unsent: list[bytes] = []
        self._watch: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._transport.set_protocol(self)
        self._transport.resume_reading()

    def ask(self, command: bytes) -> asyncio.Future[Any]:
        """Send a command at the end of this turn of the loop; its answer comes with the future."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._pending:
            self._heard_at = self._loop.time()
        self._pending.append(future)
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(command)
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout_s, self._look)
        return future

    def data_received(self, data: bytes) -> None:
        """Hand answers to those who asked, in order."""
        self._heard_at = self._loop.time()
        try:
            answers = self._answers.feed(data)
        except (ResponseError, ValueError) as problem:
            self.break_off(problem)
            return
        for answer in answers:
            if not self._pending:
                self.break_off(ConnectionError("an answer that nobody asked for"))
                return
            self._hand_out(answer, self._pending.popleft())

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail everybody who still waits."""
        self.break_off(exc or ConnectionError("the server closed the connection"))

    def break_off(self, problem: BaseException) -> None:
        """End the connection; everybody who still waits hears why."""
        if self.is_broken:
            return
        self.is_broken = True
        if self._watch is not None:
            self._watch.cancel()
        pending, self._pending = self._pending, deque()
        for future in pending:
            if not future.done():
                future.set_exception(LedgerUnavailable(str(problem) or type(problem).__name__))
        self._transport.abort()
        self._connection._reader = self._connection._writer = None  # or the library complains of a leak

    def _hand_out(self, answer: Any, future: "asyncio.Future[Any]") -> None:
        if future.done():
            return  # its caller went away
        if not isinstance(answer, ResponseError):
            future.set_result(answer)
        elif str(answer).startswith(AWAY):
            future.set_exception(LedgerUnavailable(str(answer)))
            self.break_off(answer)
        else:
            future.set_exception(answer)

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        if not self.is_broken:
            self._transport.write(b"".join(unsent))

    def _look(self) -> None:
        """See whether the server has been silent for too long while somebody waited."""
        self._watch = None
        if not self._pending:
            return
        left_s = self._heard_at + self._timeout_s - self._loop.time()
        if left_s <= 0:
            self.break_off(TimeoutError(f"no answer within {self._timeout_s:g} s"))
        else:
            self._watch = self._loop.call_later(left_s, self._look)
