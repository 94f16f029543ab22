"""How a server is, in a word: its health, or what keeps calls from it although it is well."""

from dataclasses import dataclass

from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.admission.closed import closed_by
from scheduler.core.ledger import ServerRecord
from scheduler.core.messages.endpoints import closed_word
from scheduler.core.snapshot import Server

TONES = {"ready": "good", "pending": "busy", "degraded": "warn", "stale": "warn"}
FAULTS = frozenset({"quarantined", "circuit"})
"""What keeps calls from a server because something is wrong with it; all else is an operator's plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A word with its tone and since when. `closed` says why it takes no calls, `until` until when if that is known.

    Of a server that does not answer, the word says that; `closed` is said besides.
    """

    word: str
    tone: str
    since: Moment | None
    closed: str = ""
    until: Moment | None = None
    is_fault: bool = False


def condition_of(*, record: ServerRecord, server: Server, now: float) -> Condition:
    """Say how a server is."""
    seen = record.seen
    closed = closed_by(record=record, server=server, now=now)
    word, tone, since = messages.server_phase(phase=seen.phase), TONES.get(seen.phase, "bad"), moment(seen.since)
    if closed is None:
        return Condition(word=word, tone=tone, since=since)
    is_fault = closed.kind in FAULTS
    if server.ready:
        word, tone, since = closed_word(kind=closed.kind), "bad" if is_fault else "warn", moment(closed.since)
    return Condition(
        word=word, tone=tone, since=since, closed=closed.sentence, until=moment(closed.until), is_fault=is_fault
    )
