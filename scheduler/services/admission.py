"""One endpoint paused, run empty, taken out, taken back, its queue cleared, by operators; taken out for its silence.

House rules: nothing that runs is touched; a pause sends nobody away; each step plans anew, so that whoever queued there
hears at once where it waits now.
"""

from contextlib import suppress
from itertools import islice

from scheduler.core.admission.clearing import cleared
from scheduler.core.admission.wedge import is_watched, steps
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, AdmissionState, States
from scheduler.ports import Effects, Ledger, UnknownServer
from scheduler.services.cycle import run_cycle

AT_ONCE = 200
"""So many waits are ended in one step of the ledger: nobody else is served while it runs."""


async def endpoint_close(
    *,
    ledger: Ledger,
    effects: Effects,
    config: SchedulerConfig,
    server: str,
    state: AdmissionState,
    reason: str,
    now: float,
) -> bool:
    """Place nothing new on a server; False where it was so, and for this reason, already.

    Raises:
        UnknownServer: no such server.
    """
    admission = Admission(state=state, reason=reason, since=now)
    return await _set(ledger=ledger, effects=effects, config=config, server=server, admission=admission)


async def endpoint_open(
    *,
    ledger: Ledger,
    effects: Effects,
    config: SchedulerConfig,
    server: str,
    when: States,
    now: float,
) -> bool:
    """Place calls on a server again that is in one of these states; False where it is in none of them.

    Raises:
        UnknownServer: no such server.
    """
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
    when: States = (),
) -> bool:
    changed = await ledger.admission_set(server=server, admission=admission, when=when)
    if changed:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=admission.since)
    return changed
