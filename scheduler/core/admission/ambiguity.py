"""Calls after which nobody knows whether their engine still works, and when such an engine is believed to be idle.

House rules: an engine that said how a call ended works on it no more, and neither does one that was never sent it; what
an engine does not tell of itself is never guessed from what it does tell.
"""

from providers.core.engines.base import Trouble
from scheduler.core.admission.wedge import is_at_work
from scheduler.core.gate import Admission, QuarantineCause
from scheduler.core.ledger import CallEnd, ServerConfig, ServerRecord
from scheduler.core.replica import Replica

UNENDED = frozenset({CallEnd.CANCELLED, CallEnd.TRUNCATED})
"""Ends of a call that are not the engine's own."""

ABORTED_WITHIN_S = 10.0
"""So long an engine that ends its work when its connection closes may take for that."""


def lost_by(trouble: Trouble) -> QuarantineCause:
    """Say what a call that was sent and got no answer, or none to its end, leaves in doubt."""
    if trouble is Trouble.TIMED_OUT:
        return QuarantineCause.AMBIGUOUS_TIMEOUT
    return QuarantineCause.AMBIGUOUS_TRANSPORT


def ambiguity_of(*, end: CallEnd | None, trouble: Trouble | None, is_whole: bool) -> QuarantineCause | None:
    """Say what the end of an answer leaves in doubt; None where nothing is.

    `trouble` is what ended it early; `is_whole`: as far as HTTP goes it came to its end. A caller that left leaves no
    doubt: its connection is closed, or read to its end.
    """
    if end not in UNENDED:
        return None
    if trouble is not None:
        return lost_by(trouble)
    return QuarantineCause.INCOMPLETE_RESPONSE if is_whole and end is CallEnd.TRUNCATED else None


def work_ends_within_s(config: ServerConfig) -> float:
    """Give the seconds after which an engine is believed to work no more on a call that was abandoned.

    One that aborts when its connection closes has been told; one that works on has as long as for a caller that left.
    """
    return ABORTED_WITHIN_S if config.aborts_on_disconnect else config.call_timeout_s


def doubt_to_end(*, replica: Replica, record: ServerRecord, now: float) -> Admission | None:
    """Give the doubt that a probe ends which begins now and finds the engine ready; None where it would end none.

    1. The system took the server out because of a call that ended in doubt; an operator's word is an operator's to end.
    2. Nothing is in flight there by our own books: no call, not even one that its caller left, and no load.
    3. The call in doubt must be over by now, and every one that ended in doubt before it.
    """
    said = record.admission
    if not said.is_in_doubt or is_at_work(replica=replica, name=record.config.name):
        return None
    return said if now - said.since >= work_ends_within_s(record.config) else None
