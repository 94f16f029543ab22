"""Granted callers whose load does not come: their wait ends after their limit and three times the load."""

import pytest

from scheduler.core.ledger import StandAsideChange
from scheduler.core.overdue import overdue_loads
from tests.builders import NOW, call, cluster, server
from tests.core.planned import CONFIG


@pytest.mark.parametrize(
    ("load_age", "limit_age", "ends"),
    [(30, 0, True), (29, 100, False), (100, -1, False)],
    ids=["both over", "the load may still come", "the limit is not reached"],
)
def test_the_wait_for_a_load_ends(load_age, limit_age, ends):
    """The load takes 10 s by its footprint; patience is three times that."""
    started = NOW - load_age
    snapshot = cluster(server().load("m", 10240, at=started).loading("m", at=started, id="t-w", waiter="w")).at()
    waiter = call("w").prefers("m").waits(since=NOW - 90 - limit_age, limit=90, ticket="t-w", model="m")

    found = list(overdue_loads(snapshot=snapshot, waiters=[waiter], config=CONFIG))

    assert found == ([StandAsideChange(waiter="w", reason="load-overdue", model="m")] if ends else [])


def test_who_still_waits_for_a_place_is_not_asked_here():
    waiter = call("w").prefers("m").waits(since=NOW - 500, limit=90)

    assert list(overdue_loads(snapshot=cluster(server()).at(), waiters=[waiter], config=CONFIG)) == []
