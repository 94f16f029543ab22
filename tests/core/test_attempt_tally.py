"""Sums over attempts that ended."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.attempt_history import AttemptOutcome, AttemptRecord
from scheduler.core.attempt_tally import QUEUE_BOUNDS_S, Spread, Tally, TallyKey, key_of

NOTHING = Spread(counts=(0,) * 11)
RAN = AttemptRecord(
    id="c",
    call="c",
    number=1,
    agent="default/a",
    queued_at=100.0,
    admitted_at=101.0,
    started_at=102.0,
    finished_at=131.0,
    server="gpu-1",
    model="m",
    purpose="mulling",
    outcome=AttemptOutcome.OK,
)


def test_a_bound_counts_what_lies_at_it():
    assert Spread(counts=(0, 0, 0)).adding(1.0, bounds=(1.0, 2.0)).counts == (1, 0, 0)
    assert Spread(counts=(0, 0, 0)).adding(1.5, bounds=(1.0, 2.0)).counts == (0, 1, 0)
    assert Spread(counts=(0, 0, 0)).adding(9.0, bounds=(1.0, 2.0)).counts == (0, 0, 1)


@given(st.lists(st.floats(min_value=0, max_value=1000)))
def test_every_value_is_counted_once_and_summed(values):
    spread = NOTHING
    for value in values:
        spread = spread.adding(value, bounds=QUEUE_BOUNDS_S)

    assert spread.cumulative == (*(sum(v <= bound for v in values) for bound in QUEUE_BOUNDS_S), len(values))
    assert abs(spread.total_s - sum(values)) < 1e-6


def test_an_attempt_that_ran_counts_its_wait_and_its_run():
    tally = Tally().adding(RAN)

    assert key_of(RAN) == TallyKey(server="gpu-1", model="m", purpose="mulling", priority="interactive", outcome="ok")
    assert (tally.count, tally.queued.total_s, tally.ran.total_s) == (1, 1.0, 30.0)


def test_an_attempt_that_never_reached_a_server_has_no_run_time():
    """A-52: nothing is not nought."""
    gone = AttemptRecord(
        id="c",
        call="c",
        number=1,
        agent="a",
        queued_at=100.0,
        finished_at=107.0,
        outcome=AttemptOutcome.CANCELLED_QUEUED,
    )
    tally = Tally().adding(gone)

    assert tally.queued.total_s == 7.0
    assert tally.ran.counts == Tally().ran.counts


def test_tallies_join_by_adding_up():
    assert Tally().adding(RAN).joined(Tally().adding(RAN)) == Tally().adding(RAN).adding(RAN)
