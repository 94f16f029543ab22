"""Composition root: settings in, a wired runtime out. The clock and chance enter here.

A runtime belongs to one event loop. Async faces await `runtime()`; synchronous faces (tasks, commands) hand their
work to this process's one loop thread by `run` (and wait) or `spawn` (and do not).
"""

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings

from providers.bootstrap import engine_api, engine_relay, host_resolver
from providers.ports import EngineApi, Resolver
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica
from scheduler.core.resources import ResourcesChanged
from scheduler.effects import CeleryEffects
from scheduler.ports import Callers, Catalog, Clock, Effects, History, Ids, Ledger, LedgerUnavailable
from scheduler.services.configure import ledger_back, ledger_configure
from scheduler.services.held import HeldTickets
from scheduler.services.local import LocalPlaces
from scheduler.services.placing import Doors
from scheduler.services.project import Written
from scheduler.services.remembered import RememberedCallers
from scheduler.services.showing import ShownModels
from scheduler.services.submit import call_withdraw
from scheduler.stores.catalog import OrmCatalog
from scheduler.stores.history import OrmHistory
from scheduler.stores.ledger import RedisLedger

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Everything that services need, wired. `callers` is the catalog's part for the calls of clients, remembered."""

    config: SchedulerConfig
    ledger: Ledger
    catalog: Catalog
    callers: Callers
    doors: Doors
    shown: ShownModels
    history: History
    effects: Effects
    engine: EngineApi
    resolver: Resolver
    ids: Ids
    now: Clock
    written: Written


Work = Callable[[Runtime], Awaitable[object]]

DAY_S = 24 * 3600.0
LEDGER_LOST = "ledger-unavailable"
"""Why a wait ended that the ledger was lost over, in history."""
IN_THE_LEDGER = frozenset({"ModelServer", "Model", "Crew"})

_runtimes: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Runtime]] = WeakKeyDictionary()
_spawned: dict[str, asyncio.Task[Any]] = {}
_thread_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def config() -> SchedulerConfig:
    """Read the scheduler's figures from the settings."""
    env = settings.KUBEMOOT
    return SchedulerConfig(
        ticket_lease_s=env.ticket_lease_s,
        waiter_lease_s=env.waiter_lease_s,
        wait_limit_s=env.wait_limit_s,
        plan_limit_s=env.plan_lease_s,
        drain_after_s=env.drain_after_s,
        max_waiters_per_agent=env.queue_per_agent,
        probe_fast_s=env.probe_fast_s,
        probe_slow_s=env.probe_slow_s,
        keep_history_s=env.history_days * DAY_S or None,
    )


async def runtime() -> Runtime:
    """Give the running loop's runtime, starting it first where it has none.

    Everybody who asks meanwhile waits for the same start and hears the same problem; the next one to ask starts anew.
    A caller that goes away takes the start from nobody.

    Raises:
        LedgerUnavailable: the ledger cannot be reached.
    """
    loop = asyncio.get_running_loop()
    starting = _runtimes.get(loop)
    if starting is None:
        starting = _runtimes[loop] = loop.create_task(_start(), name="runtime")
        starting.add_done_callback(_forget_failure)
    return await asyncio.shield(starting)


async def close() -> None:
    """Let go of the running loop's connections."""
    starting = _runtimes.pop(asyncio.get_running_loop(), None)
    if starting is not None:
        wired = await starting
        await wired.doors.local.close()
        await wired.doors.left.close()
        await wired.doors.held.close()
        await wired.doors.relay.close()
        await wired.ledger.close()
        await wired.engine.close()


def clock() -> float:
    """Read the clock, for work that needs no ledger."""
    return time.time()


async def replica() -> Replica | None:
    """Give the running loop's copy of the ledger, or None while the ledger cannot be reached."""
    try:
        return (await runtime()).ledger.replica
    except LedgerUnavailable:
        return None


async def resources_changed(change: ResourcesChanged) -> None:
    """Bring changed resources into the ledger; while it cannot be reached they stay stored, and it follows later."""
    if not change.kinds & IN_THE_LEDGER:
        return
    try:
        await configure()
    except LedgerUnavailable as error:
        log.warning("Stored, and in use as soon as Kubemoot runs: its ledger cannot be reached now (%s).", error)


async def configure() -> None:
    """Bring what is registered into the ledger now, rather than when the timer does it next.

    Raises:
        LedgerUnavailable: the ledger cannot be reached.
    """
    wired = await runtime()
    await ledger_configure(
        ledger=wired.ledger, catalog=wired.catalog, effects=wired.effects, config=wired.config, now=wired.now()
    )


def run(work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Do async work from a synchronous face, on this process's loop thread, and wait for it."""
    return asyncio.run_coroutine_threadsafe(_with_runtime(work), _loop_thread()).result()


def spawn(work: Work, *, key: str) -> None:
    """Start async work on this process's loop thread and return. Work of the same key is not started twice at a time.

    Tasks use this for whatever may hang: a worker thread must never be held by an engine that does not answer.
    """
    _loop_thread().call_soon_threadsafe(_spawn, work, key)


def _spawn(work: Work, key: str) -> None:
    if key in _spawned:
        return
    task = asyncio.get_running_loop().create_task(_logged(work, key), name=key)
    _spawned[key] = task
    task.add_done_callback(lambda _: _spawned.pop(key, None))


async def _logged(work: Work, key: str) -> None:
    try:
        await _with_runtime(work)
    except Exception as error:  # nobody waits for this work; the tick finds what it left undone
        log.warning("%s failed: %s: %s", key, type(error).__name__, error)


async def _with_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    return await work(await runtime())


def ledger_at(*, url: str, name: str, figures: SchedulerConfig) -> RedisLedger:
    """Make a ledger of a name on a server of one's own choice, not started yet."""
    return RedisLedger(url=url, name=name, config=figures)


async def _start() -> Runtime:
    figures = config()
    ledger = ledger_at(url=settings.REDIS_URL, name=settings.KUBEMOOT.ledger, figures=figures)
    try:
        await ledger.start()
    except BaseException:
        await ledger.close()
        raise
    folder = settings.KUBEMOOT.secrets_folder
    catalog, effects, engine = OrmCatalog(), CeleryEffects(), engine_api(secrets=folder)
    held = HeldTickets(ledger=ledger, config=figures)
    return Runtime(
        config=figures,
        ledger=ledger,
        catalog=catalog,
        callers=RememberedCallers(catalog=catalog),
        doors=Doors(
            ledger=ledger,
            effects=effects,
            config=figures,
            relay=engine_relay(secrets=folder),
            held=held,
            local=LocalPlaces(
                ledger=ledger,
                held=held,
                now=time.time,
                on_back=lambda: ledger_back(
                    ledger=ledger, catalog=catalog, effects=effects, config=figures, now=time.time
                ),
                withdraw=lambda call: call_withdraw(
                    ledger=ledger, effects=effects, config=figures, waiter=call, now=time.time(), reason=LEDGER_LOST
                ),
            ),
            now=time.time,
        ),
        shown=ShownModels(engine=engine),
        history=OrmHistory(ledger=settings.KUBEMOOT.ledger),
        effects=effects,
        engine=engine,
        resolver=host_resolver(),
        ids=lambda: secrets.token_hex(12),
        now=time.time,
        written=Written(),
    )


def _forget_failure(starting: "asyncio.Task[Runtime]") -> None:
    """Let the next one who asks try again. Looking at the problem keeps the loop from complaining of it."""
    if starting.cancelled() or starting.exception() is not None:
        loop = starting.get_loop()
        if _runtimes.get(loop) is starting:
            del _runtimes[loop]


def _loop_thread() -> asyncio.AbstractEventLoop:
    """Give this process's loop, starting its thread first where there is none."""
    global _loop
    with _thread_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="scheduler-loop", daemon=True).start()
        return _loop
