"""Values as documents and as their text."""

import json

import pytest

from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.ledger_docs import to_doc, to_text
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate, Priority, Ticket, TicketState, Waiter

VALUES = [
    Ticket(id="t", server="gpu-1", agent="ä", model="m", state=TicketState.LOADING, started_at=1.5, evicts=("a", "b")),
    Waiter(
        id="w",
        agent="a",
        candidates=(Candidate(model="m", score=60, servers=frozenset({"gpu-2", "gpu-1"})),),
        arrived_at=1700000000.123456,
        limit_at=2.0,
        priority=Priority.BACKGROUND,
    ),
    ServerRecord(
        config=ServerConfig(name="gpu-1", kind="ollama", endpoint="e"),
        seen=ServerSeen(residents=(Resident(model="m", footprint_mib=1),), models=None),
    ),
    {"model": "m", "server": None, "eta_s": 1.0},
]


@pytest.mark.parametrize("value", VALUES)
def test_the_text_of_a_value_is_its_document_in_json(value: object) -> None:
    assert to_text(value) == json.dumps(to_doc(value), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_number_that_json_does_not_know_is_refused_before_it_is_sent(number: float) -> None:
    """The script language would stop half-way at it, and with it everybody whose changes share the step."""
    with pytest.raises(ValueError, match="JSON compliant"):
        to_text({"eta_s": number})
