"""When a server may be merged into another one, which removes it."""

from scheduler.core.admission.closed import running_on
from scheduler.core.messages.duplicates import cannot_merge_itself, still_at_work, still_takes_calls
from scheduler.core.replica import Replica


class MergeRefused(Exception):
    """A server that cannot be merged into another one now; the message says what to do first."""


def check_merge(*, replica: Replica, server: str, into: str, now: float) -> None:
    """Make sure that merging a registered server into another one cuts nothing off.

    Raises:
        MergeRefused: it takes calls, or something runs on it.
    """
    if server == into:
        raise MergeRefused(cannot_merge_itself(server=server))
    if replica.servers[server].admission.is_open:
        raise MergeRefused(still_takes_calls(server=server))
    running = len(running_on(replica.snapshot(now=now).servers[server]))
    if running:
        raise MergeRefused(still_at_work(server=server, running=running))
