"""Servers that are taken out because nobody knows whether their engines still work on a call that is over."""

import asyncio
from typing import Any

import pytest

from scheduler.core.gate import AMBIGUOUS, Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import CallEnd, Outcome, Refusal
from tests.contracts.builders import OK, World, server

OPEN, QUARANTINED = AdmissionState.OPEN, AdmissionState.QUARANTINED
TIMEOUT, TRANSPORT = QuarantineCause.AMBIGUOUS_TIMEOUT, QuarantineCause.AMBIGUOUS_TRANSPORT
DIED = QuarantineCause.WORKER_TERMINATED
FAILED = Outcome(ok=False, end=CallEnd.ERROR)


def doubtful(cause: QuarantineCause = TIMEOUT) -> Outcome:
    """End a call so that nobody knows whether the engine still works on it."""
    return Outcome(ok=False, end=CallEnd.ERROR, ambiguity=cause)


def taken_out(cause: QuarantineCause = TIMEOUT, *, since: float = 1000.0) -> Admission:
    """Describe a server that the system took out."""
    return Admission(state=QUARANTINED, since=since, by=AdmissionBy.SYSTEM, cause=cause)


async def gpu(world: World, *models: str, **more: Any) -> None:
    """Register a server whose operator wants it taken out in doubt."""
    await world.gpu(*models, **{"slots": 2, "quarantine_on_ambiguous": True} | more)


async def says(world: World, state: AdmissionState, by: AdmissionBy = AdmissionBy.OPERATOR, **more: Any) -> bool:
    """Say how the server stands from now on."""
    cause = QuarantineCause.SILENT if by is AdmissionBy.SYSTEM and state is QUARANTINED else None
    said = Admission(state=state, reason="why", since=world.clock(), by=by, cause=cause)
    return await world.ledger.admission_set(server="gpu-1", admission=said, **more)


@pytest.mark.parametrize("cause", sorted(AMBIGUOUS))
async def test_a_call_that_ends_in_doubt_takes_its_server_out_and_what_runs_there_goes_on(
    world: World, cause: QuarantineCause
) -> None:
    """A-28."""
    await gpu(world, "14b")
    await world.grant("t1")
    await world.grant("t2")

    assert await world.releases("t1", doubtful(cause)) is True

    assert world.record().admission == taken_out(cause)
    assert await world.grant("t3") is Refusal.SERVER_CLOSED
    assert await world.ledger.renew(ticket="t2") == 15.0
    events = await world.events("admission")
    told = [{name: event[name] for name in ("server", "state", "reason", "by", "cause")} for event in events]
    assert told == [{"server": "gpu-1", "state": "quarantined", "reason": "", "by": "system", "cause": cause}]


@pytest.mark.parametrize(
    ("wants", "outcome"),
    [(False, doubtful()), (True, OK), (True, FAILED), (True, Outcome(ok=False, end=CallEnd.CANCELLED))],
    ids=["its operator does not want it", "it went well", "it failed and said so", "its caller left"],
)
async def test_nothing_else_takes_it_out(world: World, wants: bool, outcome: Outcome) -> None:
    await gpu(world, "14b", quarantine_on_ambiguous=wants)
    await world.grant("t1")

    await world.releases("t1", outcome)

    assert world.record().admission == Admission()
    assert await world.events("admission") == []


async def test_whoever_held_a_call_and_is_gone_leaves_the_server_in_doubt(world: World) -> None:
    await gpu(world, "14b")
    await world.grant("t1")
    await world.grant("t2")
    world.clock.advance(15)

    assert (await world.ledger.reap(now=world.clock())).tickets == 2

    assert world.record().admission == taken_out(DIED, since=1015.0)
    assert len(await world.events("admission")) == 1
    assert await world.grant("t3") is Refusal.SERVER_CLOSED


@pytest.mark.parametrize("wants", [True, False])
async def test_a_place_that_no_call_had_yet_leaves_no_doubt_when_it_lapses(world: World, wants: bool) -> None:
    """Nothing was sent for it: the agent never called, the caller never came for its place."""
    await gpu(world, "14b", quarantine_on_ambiguous=wants)
    await world.plans("p1")
    await world.waits("w1")
    await world.grant("t1", waiter="w1", agent="b")
    world.clock.advance(180)

    await world.ledger.reap(now=world.clock())

    assert world.tickets == {}
    assert world.record().admission == Admission()


@pytest.mark.parametrize("state", [AdmissionState.PAUSED, AdmissionState.DRAINING, QUARANTINED])
async def test_what_an_operator_said_stays(world: World, state: AdmissionState) -> None:
    await gpu(world, "14b")
    await world.grant("t1")
    await world.grant("t2")
    await says(world, state)
    before = world.record().admission

    await world.releases("t1", doubtful())
    world.clock.advance(15)
    await world.ledger.reap(now=world.clock())

    assert world.record().admission == before


async def test_an_operator_may_say_the_same_and_is_then_the_one_who_takes_it_back(world: World) -> None:
    await gpu(world, "14b")
    await world.grant("t1")
    await world.releases("t1", doubtful())

    assert await world.ledger.admission_set(server="gpu-1", admission=Admission(state=QUARANTINED, since=world.clock()))

    assert world.record().admission == Admission(state=QUARANTINED, since=1000.0)


async def test_doubt_takes_the_place_of_silence_and_the_newest_doubt_that_of_an_older_one(world: World) -> None:
    """What began later ends later: the wait for an idle engine begins anew."""
    await gpu(world, "14b")
    await world.grant("t1")
    await world.grant("t2")
    await says(world, QUARANTINED, AdmissionBy.SYSTEM)
    seen = []

    for id, cause in (("t1", TIMEOUT), ("t2", TRANSPORT)):
        world.clock.advance(5)
        await world.releases(id, doubtful(cause))
        seen.append(world.record().admission)

    assert seen == [taken_out(TIMEOUT, since=1005.0), taken_out(TRANSPORT, since=1010.0)]


async def test_a_grant_in_the_same_step_comes_too_late(world: World) -> None:
    await gpu(world, "14b")
    await world.grant("t1")

    released, refusal = await asyncio.gather(world.releases("t1", doubtful()), world.grant("t2"))

    assert (released, refusal) == (True, Refusal.SERVER_CLOSED)


@pytest.mark.parametrize("how", ["doubt", "operator", "lease"])
async def test_who_was_granted_a_place_there_and_has_not_got_it_yet_waits_again(world: World, how: str) -> None:
    """Nothing has been sent for it; its turn is as old as it was."""
    await gpu(world, "14b")
    await world.grant("t1")
    await world.waits("w1", "8b")
    assert await world.grant_load("t2", "8b", waiter="w1", agent="b") is None
    if how == "doubt":
        await world.releases("t1", doubtful())
    elif how == "operator":
        await says(world, QUARANTINED)
    else:
        world.clock.advance(15)
        await world.ledger.reap(now=world.clock())

    waiter = world.ledger.replica.waiters["w1"]
    assert (waiter.ticket, waiter.is_waiting, waiter.arrived_at) == (None, True, 1000.0)
    assert "t2" not in world.tickets
    assert [load.model for load in world.loads] == ["8b"], "memory is being filled all the same"
    lost = [event for event in await world.events("lapsed") if event["ticket"] == "t2"]
    assert [(event["waiter"], event["reason"]) for event in lost] == [("w1", "quarantined")]
    assert await world.picks_up("w1") is None


@pytest.mark.parametrize("state", [AdmissionState.PAUSED, AdmissionState.DRAINING])
async def test_who_was_granted_a_place_where_calls_are_only_held_back_gets_it(
    world: World, state: AdmissionState
) -> None:
    await gpu(world, "14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1")

    await says(world, state)

    settled = await world.picks_up("w1")
    assert settled is not None
    assert settled.ticket is not None


async def test_whoever_takes_it_back_may_ask_that_nothing_has_happened_since(world: World) -> None:
    """A probe found the engine idle, and meanwhile another call ended in doubt."""
    await gpu(world, "14b")
    await world.grant("t1")
    await world.grant("t2")
    await world.releases("t1", doubtful())
    world.clock.advance(60)
    back = Admission(since=world.clock(), by=AdmissionBy.SYSTEM)
    since = world.record().admission.since

    await world.releases("t2", doubtful(TRANSPORT))
    assert await world.ledger.admission_set(server="gpu-1", admission=back, when=(QUARANTINED,), since=since) is False
    since = world.record().admission.since
    assert await world.ledger.admission_set(server="gpu-1", admission=back, when=(QUARANTINED,), since=since) is True

    assert world.record().admission == Admission(since=1060.0, by=AdmissionBy.SYSTEM)
    assert await world.grant("t3") is None


async def test_times_that_no_script_writes_exactly_are_the_same_times(world: World) -> None:
    """The script language writes fourteen digits; what a process read there must be what it may ask for."""
    await gpu(world, "14b")
    world.clock.advance(1_795_980_800.123456789)
    await world.grant("t1")
    await world.releases("t1", doubtful())
    back = Admission(since=world.clock(), by=AdmissionBy.SYSTEM)

    assert await world.ledger.admission_set(server="gpu-1", admission=back, since=world.record().admission.since)


async def test_another_endpoint_is_beyond_doubt(world: World) -> None:
    await gpu(world, "14b")
    await world.grant("t1")
    await world.releases("t1", doubtful())

    await world.servers(server(endpoint="http://elsewhere", quarantine_on_ambiguous=True))

    assert (world.record().admission.state, world.record().admission.cause) == (OPEN, None)
