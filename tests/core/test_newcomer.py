"""A newcomer whom nobody precedes gets what a pass over the line would give it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core import cycle
from scheduler.core.ledger import GrantChange
from scheduler.core.newcomer import grant_alone
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.snapshot_json import read_request, read_snapshot
from scheduler.core.types import TicketState, Waiter
from tests.core.placement.snapshots import NOW, snapshot
from tests.core.planned import CONFIG


@given(seed=st.integers(min_value=0, max_value=10**6))
def test_it_gets_the_same_as_in_a_pass_over_an_empty_line(seed: int) -> None:
    picture, waiter = _alone(seed)

    changes, _ = cycle.plan(snapshot=picture, waiters=[waiter], held={}, config=CONFIG, is_weighted=False)

    at_once = [
        replace(c, ticket=replace(c.ticket, waiter=None))
        for c in changes
        if isinstance(c, GrantChange) and c.ticket.state is TicketState.ACTIVE
    ]
    alone = grant_alone(snapshot=picture, waiter=waiter)
    assert ([] if alone is None else [alone]) == at_once


def test_the_random_clusters_have_both_who_gets_a_slot_and_who_does_not() -> None:
    found = {grant_alone(snapshot=picture, waiter=waiter) is None for picture, waiter in map(_alone, range(200))}

    assert found == {True, False}


def _alone(seed: int) -> tuple[ClusterSnapshot, Waiter]:
    doc = snapshot(seed)
    picture = read_snapshot({name: value for name, value in doc.items() if name != "demand"})
    servers = {name: replace(server, drain=None) for name, server in picture.servers.items()}
    picture = replace(picture, servers=servers)
    asked = read_request(doc["request"], now=NOW)
    waiter = Waiter(
        id="w",
        agent=asked.agent,
        candidates=asked.candidates,
        tolerance=asked.tolerance,
        prompt_tokens=asked.prompt_tokens,
        priority=asked.priority,
        arrived_at=asked.arrived_at,
        limit_at=NOW + 60,
    )
    return picture, waiter
