"""One endpoint paused, run empty, taken out, taken back, its queue cleared, by operators; taken out for its silence.

House rules: nothing that runs is touched; a pause sends nobody away; each step plans anew, so that whoever queued there
hears at once where it waits now.
"""

from collections.abc import Collection
from contextlib import suppress
from itertools import islice

from scheduler.core.admission.clearing import cleared
from scheduler.core.admission.wedge import is_watched, steps
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, AdmissionState
from scheduler.ports import Effects, Ledger, UnknownServer
from scheduler.services.cycle import run_cycle

AT_ONCE = 200
"""So many waits are ended in one step of the ledger: nobody else is served while it runs."""


async def endpoint_pause(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, reason: str, now: float
) -> bool:
    """Place nothing new on a server; False where it was paused for this reason already.

    Raises:
        UnknownServer: no such server.
    """
    admission = Admission(state=AdmissionState.PAUSED, reason=reason, since=now)
    return await _set(ledger=ledger, effects=effects, config=config, server=server, admission=admission)


async def endpoint_drain(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, reason: str, now: float
) -> bool:
    """Place nothing new on a server, and say when nothing runs there any more; False where that was so already.

    Raises:
        UnknownServer: no such server.
    """
    admission = Admission(state=AdmissionState.DRAINING, reason=reason, since=now)
    return await _set(ledger=ledger, effects=effects, config=config, server=server, admission=admission)


async def endpoint_quarantine(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, reason: str, now: float
) -> bool:
    """Take a server out for how its engine behaves; False where that was so already.

    Raises:
        UnknownServer: no such server.
    """
    admission = Admission(state=AdmissionState.QUARANTINED, reason=reason, since=now)
    return await _set(ledger=ledger, effects=effects, config=config, server=server, admission=admission)


async def endpoint_resume(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, now: float
) -> bool:
    """Place calls on a paused or draining server again; False where it is neither.

    Raises:
        UnknownServer: no such server.
    """
    when = (AdmissionState.PAUSED, AdmissionState.DRAINING)
    admission = Admission(since=now)
    return await _set(ledger=ledger, effects=effects, config=config, server=server, admission=admission, when=when)


async def endpoint_clear_quarantine(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, now: float
) -> bool:
    """Place calls on a server again that was taken out; False where it was not.

    Raises:
        UnknownServer: no such server.
    """
    when = (AdmissionState.QUARANTINED,)
    admission = Admission(since=now)
    return await _set(ledger=ledger, effects=effects, config=config, server=server, admission=admission, when=when)


async def queue_clear(*, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, now: float) -> int:
    """Send away those who queue on a server, or have no other place; give how many.

    Raises:
        UnknownServer: no such server.
    """
    await ledger.catch_up()
    replica = ledger.replica
    if server not in replica.servers:
        raise UnknownServer(server)
    changes = cleared(snapshot=replica.snapshot(now=now), waiters=replica.waiting(), server=server)
    count = 0
    while batch := tuple(islice(changes, AT_ONCE)):
        committed = await ledger.commit(changes=batch, now=now)
        count += committed.results.count(None)
    if count:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
    return count


async def engines_watch(*, ledger: Ledger, config: SchedulerConfig, now: float) -> int:
    """Take out the servers whose engines fell silent with calls at work, let others back in; give how many changed."""
    if not is_watched(replica=ledger.replica, config=config, now=now):
        return 0
    changed = 0
    progress = await ledger.progress()
    for step in tuple(steps(replica=ledger.replica, progress=progress, config=config, now=now)):
        with suppress(UnknownServer):
            changed += await ledger.admission_set(server=step.server, admission=step.admission, trial=step.trial)
    return changed


async def _set(
    *,
    ledger: Ledger,
    effects: Effects,
    config: SchedulerConfig,
    server: str,
    admission: Admission,
    when: Collection[AdmissionState] = (),
) -> bool:
    changed = await ledger.admission_set(server=server, admission=admission, when=when)
    if changed:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=admission.since)
    return changed
