"""One connection to Redis that many callers share: commands go out as they come, answers come back in order.

House rules: nothing waits longer than the time-out; whatever goes wrong with the connection is `LedgerUnavailable`, and
the next call connects anew. A call that failed after it was sent may have been carried out: nothing is sent twice.
"""

import asyncio
import math
from collections import deque
from collections.abc import Iterable
from typing import Any

from redis.asyncio.connection import Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from scheduler.ports import LedgerUnavailable
from scheduler.stores.ledger_scripts import Script

BROKEN = (RedisConnectionError, RedisTimeoutError, TimeoutError, OSError)


class Link:
    """A pipelining connection. It belongs to the event loop that first calls it."""

    def __init__(self, *, url: str, timeout_s: float) -> None:
        settings: dict[str, Any] = dict(parse_url(url))
        self._kind = settings.pop("connection_class", Connection)
        settings.pop("max_connections", None)
        self._settings = settings | {
            "protocol": 2,
            "driver_info": None,
            "socket_timeout": None,  # the reader bounds the waiting; a time-out here would send from another task
            "socket_connect_timeout": timeout_s,
            "retry": Retry(NoBackoff(), 0),
        }
        self._timeout_s = timeout_s
        self._connection: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._deadline: asyncio.Timeout | None = None
        self._pending: deque[asyncio.Future[Any]] = deque()
        self._connecting = asyncio.Lock()

    async def run(self, script: Script, *, root: str, args: Iterable[str | bytes | int]) -> Any:
        """Run a script on a ledger's root key, sending its text only to a server that does not know it."""
        given = tuple(args)
        try:
            return await self.call("EVALSHA", script.sha, 1, root, *given)
        except NoScriptError:
            return await self.call("EVAL", script.text, 1, root, *given)

    async def call(self, *command: str | bytes | int) -> Any:
        """Send a command and give its answer.

        Raises:
            LedgerUnavailable: the server cannot be reached, or did not answer in time.
        """
        connection = self._connection
        if connection is None:
            connection = await self._connect()
        future = asyncio.get_running_loop().create_future()
        self._pending.append(future)
        self._expect()
        try:
            await connection.send_packed_command(connection.pack_command(*command), check_health=False)
        except BROKEN as problem:
            await self._break(connection, problem)
        return await future

    async def close(self) -> None:
        """Let go of the connection; calls under way fail."""
        reader, self._reader = self._reader, None
        if self._connection is not None:
            await self._break(self._connection, ConnectionError("closed"))
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _connect(self) -> Any:
        async with self._connecting:
            if self._connection is not None:
                return self._connection
            connection = self._kind(**self._settings)
            try:
                async with asyncio.timeout(self._timeout_s):
                    await connection.connect()
            except BROKEN as problem:
                await connection.disconnect(nowait=True)
                raise LedgerUnavailable(str(problem) or type(problem).__name__) from problem
            self._connection = connection
            self._reader = asyncio.create_task(self._read(connection))
            return connection

    def _expect(self) -> None:
        """Start the clock for the next answer, unless it runs."""
        deadline = self._deadline
        if deadline is not None and deadline.when() is None:
            deadline.reschedule(asyncio.get_running_loop().time() + self._timeout_s)

    async def _read(self, connection: Any) -> None:
        try:
            while True:
                answer = await self._next(connection)
                future = self._pending.popleft()
                if future.done():
                    continue  # its caller went away
                if isinstance(answer, ResponseError):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
        except BROKEN as problem:
            await self._break(connection, problem)

    async def _next(self, connection: Any) -> Any:
        try:
            async with asyncio.timeout(self._timeout_s if self._pending else None) as self._deadline:
                return await connection.read_response(timeout=math.inf, disconnect_on_error=False)
        except ResponseError as answer:
            return answer
        finally:
            self._deadline = None

    async def _break(self, connection: Any, problem: BaseException) -> None:
        if self._connection is not connection:
            return
        self._connection = None
        pending, self._pending = self._pending, deque()
        for future in pending:
            if not future.done():
                future.set_exception(LedgerUnavailable(str(problem) or type(problem).__name__))
        await connection.disconnect(nowait=True)
