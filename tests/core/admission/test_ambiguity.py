"""Which ends of a call leave in doubt what its engine does, and when a probe ends such a doubt."""

from typing import Any

import pytest

from providers.core.engines.base import Trouble
from scheduler.core.admission.ambiguity import ambiguity_of, doubt_to_end, lost_by, work_ends_within_s
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import AMBIGUOUS, Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import CallEnd, ServerConfig, ServerRecord
from scheduler.core.ledger_docs import to_doc
from scheduler.core.replica import Replica
from scheduler.core.types import LoadUnderWay, Ticket, TicketState

NOW = 1000.0
TIMEOUT, TRANSPORT = QuarantineCause.AMBIGUOUS_TIMEOUT, QuarantineCause.AMBIGUOUS_TRANSPORT
INCOMPLETE = QuarantineCause.INCOMPLETE_RESPONSE
OK, ERROR, REFUSED = CallEnd.OK, CallEnd.ERROR, CallEnd.REFUSED
CUT, LEFT = CallEnd.TRUNCATED, CallEnd.CANCELLED

ENDS = [
    ("it went well", OK, None, True, None),
    ("it had its final mark, then the connection broke", OK, Trouble.BROKEN, True, None),
    ("the engine said no", REFUSED, None, True, None),
    ("the engine said that it failed", ERROR, None, True, None),
    ("the engine said that it failed, then the connection broke", ERROR, Trouble.BROKEN, True, None),
    ("it fell silent", CUT, Trouble.TIMED_OUT, True, TIMEOUT),
    ("its connection broke", CUT, Trouble.BROKEN, True, TRANSPORT),
    ("it ended without its final mark", CUT, None, True, INCOMPLETE),
    ("it was too long, and cut off by us", CUT, None, False, None),
    ("its caller left", LEFT, None, False, None),
    ("its caller left when it was over", LEFT, None, True, None),
    ("its caller left when the connection had broken", LEFT, Trouble.BROKEN, True, TRANSPORT),
    ("nobody said how it ended", None, Trouble.BROKEN, True, None),
]


@pytest.mark.parametrize(("end", "trouble", "is_whole", "found"), [row[1:] for row in ENDS], ids=[r[0] for r in ENDS])
def test_only_an_engine_that_did_not_say_how_a_call_ended_is_in_doubt(end, trouble, is_whole, found):
    """A-28."""
    assert ambiguity_of(end=end, trouble=trouble, is_whole=is_whole) is found


@pytest.mark.parametrize("trouble", Trouble)
def test_a_call_that_was_sent_and_got_no_answer_timed_out_or_lost_its_connection(trouble):
    assert lost_by(trouble) is (TIMEOUT if trouble is Trouble.TIMED_OUT else TRANSPORT)


def config(**more: Any) -> ServerConfig:
    return ServerConfig(**{"name": "gpu-1", "kind": "ollama", "endpoint": "e", "call_timeout_s": 300.0} | more)


def test_an_engine_that_aborts_has_been_told_and_one_that_works_on_has_as_long_as_for_a_caller_that_left():
    assert work_ends_within_s(config()) == 10.0
    assert work_ends_within_s(config(aborts_on_disconnect=False)) == 300.0


def replica(*states: TicketState, load: bool = False, **ticket: Any) -> Replica:
    """Make a replica of two servers, with tickets on the first, and a call on the other."""
    made = Replica(config=SchedulerConfig())
    rows: list[Any] = [("server", name, to_doc(ServerRecord(config=config(name=name)))) for name in ("gpu-1", "gpu-2")]
    other = Ticket(id="o", server="gpu-2", agent="a", model="m", state=TicketState.ACTIVE, started_at=NOW)
    rows.append(("ticket", "o", to_doc(other)))
    for number, state in enumerate(states):
        held = Ticket(id=f"t{number}", server="gpu-1", agent="a", model="m", state=state, started_at=NOW, **ticket)
        rows.append(("ticket", held.id, to_doc(held)))
    if load:
        under_way = LoadUnderWay(server="gpu-1", model="n", footprint_mib=1, started_at=NOW)
        rows.append(("load", "gpu-1#n", to_doc(under_way)))
    made.apply(version=1, deltas=rows)
    return made


def doubted(
    cause: QuarantineCause | None = TIMEOUT,
    *,
    ago_s: float = 10.0,
    state: AdmissionState = AdmissionState.QUARANTINED,
    by: AdmissionBy = AdmissionBy.SYSTEM,
    **more: Any,
) -> ServerRecord:
    """Describe a server that was taken out some seconds ago."""
    admission = Admission(state=state, since=NOW - ago_s, by=by, cause=cause)
    return ServerRecord(config=config(**more), admission=admission)


@pytest.mark.parametrize("cause", sorted(AMBIGUOUS))
def test_a_good_probe_of_an_idle_engine_ends_each_doubt(cause):
    record = doubted(cause)

    assert doubt_to_end(replica=replica(), record=record, now=NOW) == record.admission


ACTIVE, LOADING, PLANNED = TicketState.ACTIVE, TicketState.LOADING, TicketState.PLANNED
NOT_YET = [
    ("the call in doubt may still be aborted", doubted(ago_s=9.9), replica()),
    ("an engine that works on may still be at it", doubted(ago_s=299, aborts_on_disconnect=False), replica()),
    ("a call runs there", doubted(), replica(ACTIVE)),
    ("a call runs there that its caller left", doubted(), replica(ACTIVE, left_at=NOW - 1)),
    ("a model loads there for a call", doubted(), replica(LOADING)),
    ("a model loads there for nobody", doubted(), replica(load=True)),
    ("it was taken out for its silence", doubted(QuarantineCause.SILENT), replica()),
    ("an operator took it out", doubted(None, by=AdmissionBy.OPERATOR), replica()),
    ("an operator paused it", doubted(None, state=AdmissionState.PAUSED, by=AdmissionBy.OPERATOR), replica()),
    ("it is open", doubted(None, state=AdmissionState.OPEN), replica()),
]


@pytest.mark.parametrize(("record", "made"), [row[1:] for row in NOT_YET], ids=[row[0] for row in NOT_YET])
def test_a_probe_ends_no_doubt_where(record, made):
    assert doubt_to_end(replica=made, record=record, now=NOW) is None


@pytest.mark.parametrize(
    ("record", "made"),
    [(doubted(), replica(PLANNED)), (doubted(ago_s=300, aborts_on_disconnect=False), replica())],
    ids=["only a place is held there for a call to come", "an engine that works on has had its time"],
)
def test_a_probe_ends_the_doubt_where(record, made):
    assert doubt_to_end(replica=made, record=record, now=NOW) == record.admission
