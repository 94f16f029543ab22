import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.core.engines.base import FailureKind, ProbeFailure
from providers.core.health import Health, HealthPhase, LoadFinished, LoadHung, next_health
from providers.core.types import Observation

GOOD = Observation(loaded=(), available=())
SILENT = ProbeFailure(kind=FailureKind.NO_ANSWER, detail="nothing accepts connections there")
WRONG = ProbeFailure(kind=FailureKind.WRONG_ANSWER, detail="a page that is not JSON")
HUNG = LoadHung(detail="loads do not finish")
FINISHED = LoadFinished()


def after(*events):
    health = Health()
    for at, event in events:
        health = next_health(previous=health, event=event, now=at)
    return health


CASES = {
    "a server is pending before its first probe": ((), Health()),
    "the first good probe makes it ready": (
        ((0.0, GOOD),),
        Health(phase=HealthPhase.READY, since=0.0, probed_at=0.0),
    ),
    "good probes keep the moment it became ready": (
        ((0.0, GOOD), (10.0, GOOD)),
        Health(phase=HealthPhase.READY, since=0.0, probed_at=10.0),
    ),
    "a first probe that fails is an outage at once, for nothing good was ever known": (
        ((0.0, SILENT),),
        Health(phase=HealthPhase.UNREACHABLE, since=0.0, detail=SILENT.detail, probed_at=0.0),
    ),
    "one unanswered probe makes it stale": (
        ((0.0, GOOD), (10.0, SILENT)),
        Health(phase=HealthPhase.STALE, since=10.0, detail=SILENT.detail, probed_at=10.0),
    ),
    "the second one makes it unreachable since the first": (
        ((0.0, GOOD), (10.0, SILENT), (20.0, SILENT)),
        Health(phase=HealthPhase.UNREACHABLE, since=10.0, detail=SILENT.detail, probed_at=20.0),
    ),
    "wrong answers are failing at once": (
        ((0.0, GOOD), (10.0, WRONG)),
        Health(phase=HealthPhase.FAILING, since=10.0, detail=WRONG.detail, probed_at=10.0),
    ),
    "an outage that changes its form keeps its beginning": (
        ((0.0, GOOD), (10.0, SILENT), (20.0, WRONG), (30.0, SILENT)),
        Health(phase=HealthPhase.UNREACHABLE, since=10.0, detail=SILENT.detail, probed_at=30.0),
    ),
    "one good probe ends an outage": (
        ((0.0, GOOD), (10.0, SILENT), (20.0, SILENT), (30.0, GOOD)),
        Health(phase=HealthPhase.READY, since=30.0, probed_at=30.0),
    ),
    "a hung load degrades it": (
        ((0.0, GOOD), (90.0, HUNG)),
        Health(phase=HealthPhase.DEGRADED, since=90.0, detail=HUNG.detail, probed_at=0.0),
    ),
    "green probes prove nothing about the load path": (
        ((0.0, GOOD), (90.0, HUNG), (91.0, GOOD)),
        Health(phase=HealthPhase.DEGRADED, since=90.0, detail=HUNG.detail, probed_at=91.0),
    ),
    "a load that finishes clears it": (
        ((0.0, GOOD), (90.0, HUNG), (120.0, FINISHED)),
        Health(phase=HealthPhase.READY, since=120.0, probed_at=0.0),
    ),
    "a load says nothing about a server that does not answer": (
        ((0.0, SILENT), (1.0, HUNG), (2.0, FINISHED)),
        Health(phase=HealthPhase.UNREACHABLE, since=0.0, detail=SILENT.detail, probed_at=0.0),
    ),
    "an answer older than what is known changes nothing": (
        ((0.0, GOOD), (20.0, GOOD), (10.0, SILENT), (20.0, SILENT)),
        Health(phase=HealthPhase.READY, since=0.0, probed_at=20.0),
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_health(sentence):
    events, expected = CASES[sentence]

    assert after(*events) == expected


def test_a_dead_server_gets_nothing_new_from_its_first_failed_probe_on():
    """C54: the last good reading of a server that died at t=10 must offer nothing at t=35."""
    ready = [
        after(*((float(t), GOOD if t == 0 else SILENT) for t in range(0, end, 10))).is_ready for end in (1, 11, 21, 31)
    ]

    assert ready == [True, False, False, False]


def test_a_server_whose_loads_hang_still_serves_what_is_resident():
    """C23: all probes are green while the load path hangs; calls for resident models go on."""
    assert after((0.0, GOOD), (90.0, HUNG)).is_ready


EVENTS = st.sampled_from([GOOD, SILENT, WRONG, HUNG, FINISHED])


@given(st.lists(st.tuples(st.floats(0, 1000), EVENTS), max_size=30))
def test_whatever_happens_an_outage_has_a_reason_and_a_beginning(events):
    health = after(*events)

    if health.phase is not HealthPhase.PENDING:
        assert health.since is not None
    assert bool(health.detail) == (health.phase not in {HealthPhase.PENDING, HealthPhase.READY})


@given(st.lists(st.tuples(st.floats(0, 1000), EVENTS), max_size=30), st.sampled_from([SILENT, WRONG]))
def test_after_a_newer_failed_probe_no_server_is_ready_and_after_a_good_one_every_server_is(events, failure):
    health = after(*events)

    assert not next_health(previous=health, event=failure, now=1001.0).is_ready
    assert next_health(previous=health, event=GOOD, now=1001.0).is_ready
