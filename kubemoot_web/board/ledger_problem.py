"""What people are told while the ledger does not answer."""

from scheduler.core.admission.local import LocalState
from scheduler.core.messages import ledger_silent
from scheduler.core.messages.local import goes_on_silently


def ledger_problem(*, state: LocalState) -> str:
    """Say that what is shown may be old, and what becomes of calls meanwhile."""
    if not state.is_on:
        return ledger_silent()
    return goes_on_silently(servers=state.servers, running=sum(state.running.values()), waiting=state.waiting)
