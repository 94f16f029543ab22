"""Attempts, read back: filters, pages, and that an index answers each of them."""

from typing import Any

import pytest

from scheduler import queries
from scheduler.core.attempt_history import AttemptRecord
from scheduler.models import Attempt
from scheduler.queries.attempts import attempts
from tests.queries.test_history import NOON, time

pytestmark = pytest.mark.django_db


def attempt(id: str, at: float = 0, **more: Any) -> Attempt:
    """Make an attempt that came in so many seconds after noon."""
    call, _, number = id.partition(".")
    names = {"call": call, "number": number or 1, "agent": "default/scout", "priority": "interactive"}
    given = {"server": "gpu-1", "endpoint": "http://gpu-1:11434", "outcome": "ok", "queued_at": time(NOON + at)}
    return Attempt(id=id, **names | given | more)


def page(**more: Any) -> tuple[list[str], str]:
    """Read a page and give its ids and where it goes on."""
    found = queries.attempt_page(**{"filters": {}, "since": None, "before": "", "limit": 2} | more)
    return [one.id for one in found.attempts], found.next


def test_pages_follow_each_other_without_loss_or_repeat_where_attempts_came_in_together():
    Attempt.objects.bulk_create([attempt("a"), attempt("a.2", 1), attempt("c", 1), attempt("d", 1), attempt("e", 2)])

    assert page() == (["e", "d"], "d")
    assert page(before="d") == (["c", "a.2"], "a.2")
    assert page(before="a.2") == (["a"], "")
    assert page(before="gone") == ([], "")


def test_every_filter_narrows():
    Attempt.objects.bulk_create(
        [attempt("a"), attempt("b", 1, server="gpu-2", endpoint="x"), attempt("c", 2, outcome="")]
    )

    assert page(filters={"server": "gpu-2"}) == (["b"], "")
    assert page(filters={"endpoint": "x"}) == (["b"], "")
    assert page(filters={"outcome": "ok", "server": "gpu-1"}) == (["a"], "")
    assert page(since=NOON + 2) == (["c"], "")
    assert [one.id for one in queries.newest_attempts(since=NOON + 1, limit=1)] == ["c"]


def test_what_is_summed_up_is_all_that_a_summary_looks_at():
    one = attempt("a.2", 1, model="m", admitted_at=time(NOON + 2), finished_at=time(NOON + 5), outcome="")
    Attempt.objects.bulk_create([one, attempt("b", 2, server="gpu-2"), attempt("old", -5)])

    assert queries.attempts_to_sum(since=NOON, limit=9, server="gpu-1") == (
        AttemptRecord(
            id="a.2",
            call="a",
            number=2,
            agent="default/scout",
            server="gpu-1",
            model="m",
            queued_at=NOON + 1,
            admitted_at=NOON + 2,
            finished_at=NOON + 5,
        ),
    )
    assert [one.id for one in queries.attempts_to_sum(since=NOON, limit=1)] == ["b"]


PLANS = [
    ({}, "attempt_newest_first"),
    ({"server": "gpu-1"}, "attempt_by_server"),
    ({"endpoint": "http://gpu-1:11434"}, "attempt_by_endpoint"),
    ({"outcome": "error"}, "attempt_by_outcome"),
]


@pytest.mark.parametrize(("filters", "index"), PLANS, ids=[index for _, index in PLANS])
@pytest.mark.parametrize("before", ["", "a"])
@pytest.mark.parametrize("since", [None, NOON])
def test_an_index_finds_and_orders_every_page(filters, index, before, since):
    plan = attempts(filters=filters, since=since, before=before)[:51].explain()

    assert f"USING INDEX {index}" in plan
    assert "TEMP B-TREE" not in plan


def test_an_index_finds_the_attempts_of_a_call_in_their_order_also_to_forget_them():
    listed = Attempt.objects.filter(call="a").order_by("number").explain()

    assert "USING INDEX attempt_by_call" in listed
    assert "TEMP B-TREE" not in listed
    assert "attempt_by_call" in Attempt.objects.filter(call__in=["a", "b"]).order_by().explain()
