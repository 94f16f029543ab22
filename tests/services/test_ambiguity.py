"""Attempts that end so that nobody knows whether the engine still works on them, and what becomes of their server."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from providers.core.engines.base import Trouble
from providers.core.relaying import RelayFailed
from scheduler.core.decisions import Reason
from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import CallEnd, Outcome
from scheduler.services.attempts import NoAnswer
from scheduler.services.placing import NoPlace
from tests.fakes.scripted_relay import Answer
from tests.services.test_attempts import SMALL, Calls, alone, both, until
from tests.services.world import World

TIMEOUT, TRANSPORT = QuarantineCause.AMBIGUOUS_TIMEOUT, QuarantineCause.AMBIGUOUS_TRANSPORT
INCOMPLETE, DIED = QuarantineCause.INCOMPLETE_RESPONSE, QuarantineCause.WORKER_TERMINATED
CUT, LEFT = Outcome(ok=False, end=CallEnd.TRUNCATED), Outcome(ok=False, end=CallEnd.CANCELLED)


async def doubting(world: World, **more: Any) -> World:
    """Let the servers of a world be taken out in doubt."""
    servers = [
        replace(record.config, quarantine_on_ambiguous=True, **more) for record in world.ledger.replica.servers.values()
    ]
    await world.ledger.configure(servers=servers, footprints={}, weights={})
    return world


async def calls_of(*script: Answer | Trouble | asyncio.Event, **more: Any) -> Calls:
    """Make calls to one such server."""
    return Calls(await doubting(await alone(), **more), *script)


def said(calls: Calls, server: str = "gpu-1") -> Admission:
    """Give how a server stands."""
    return calls.world.ledger.replica.servers[server].admission


def taken_out(calls: Calls, cause: QuarantineCause) -> Admission:
    """Describe a server that the system has just taken out."""
    now = calls.world.clock()
    return Admission(state=AdmissionState.QUARANTINED, since=now, by=AdmissionBy.SYSTEM, cause=cause)


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (Trouble.REFUSED, None),
        (Trouble.UNREACHED, None),
        (Trouble.UNKNOWN_HOST, None),
        (Answer(status=503), None),
        (Answer(status=500), None),
        (Answer(status=301), None),
        (Trouble.TIMED_OUT, TIMEOUT),
        (Trouble.BROKEN, TRANSPORT),
        (Answer(pieces=(Trouble.TIMED_OUT,)), TIMEOUT),
        (Answer(pieces=(Trouble.BROKEN,)), TRANSPORT),
    ],
    ids=["refused", "unreached", "no host", "503", "500", "301", "silent", "broke", "head, silent", "head, broke"],
)
async def test_before_the_first_byte_only_what_was_sent_and_not_answered_takes_a_server_out(failure, cause):
    """A-28: connect errors never do."""
    calls = await calls_of(failure)

    with pytest.raises(NoAnswer):
        await calls.open(SMALL)

    assert said(calls) == (Admission() if cause is None else taken_out(calls, cause))


@pytest.mark.parametrize(
    ("pieces", "outcome", "cause"),
    [
        ((b"a", Trouble.TIMED_OUT), CUT, TIMEOUT),
        ((b"a", Trouble.BROKEN), CUT, TRANSPORT),
        ((b"a",), CUT, INCOMPLETE),
        ((), CUT, INCOMPLETE),
        ((b"a",), Outcome(ok=True, end=CallEnd.OK), None),
        ((b"a", Trouble.BROKEN), Outcome(ok=True, end=CallEnd.OK), None),
        ((b"a",), Outcome(ok=False, end=CallEnd.ERROR), None),
        ((b"a", asyncio.Event()), LEFT, None),
    ],
    ids=["silent", "broke", "no mark", "nothing", "well", "mark, broke", "the engine's error", "the caller left"],
)
async def test_after_the_first_byte_only_an_answer_without_its_end_does(pieces, outcome, cause):
    calls = await calls_of(Answer(pieces=pieces))
    running = await calls.open(SMALL)
    try:
        while outcome is not LEFT and running.first and await running.piece():
            pass
    except RelayFailed:
        pass

    await running.end(outcome=outcome)

    assert said(calls) == (Admission() if cause is None else taken_out(calls, cause))
    assert calls.tickets() == {}


async def test_without_the_operators_wish_nothing_is_taken_out():
    calls = Calls(await alone(), Trouble.TIMED_OUT)

    with pytest.raises(NoAnswer):
        await calls.open(SMALL)

    assert said(calls) == Admission()


async def test_what_broke_may_still_be_sent_elsewhere_and_its_server_is_out_meanwhile():
    calls = Calls(await doubting(await both()), Answer(pieces=(Trouble.BROKEN,)), Answer())

    running = await calls.open(SMALL)

    first, second = (placed.ticket.server for placed in calls.places if placed is not None)
    assert (said(calls, first), said(calls, second)) == (taken_out(calls, TRANSPORT), Admission())
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))


@pytest.mark.parametrize(
    ("rest", "cause"),
    [((asyncio.Event(),), TIMEOUT), ((Trouble.BROKEN,), TRANSPORT), ((b"b",), None)],
    ids=["never ends", "breaks", "ends"],
)
async def test_an_engine_that_works_on_for_nobody_is_in_doubt_as_well(rest, cause):
    """What is known of a call whose caller left is how its engine ended; that it ended is all that matters here."""
    go_on = asyncio.Event()
    calls = await calls_of(
        Answer(pieces=(b"a", go_on, *rest)), aborts_on_disconnect=False, call_timeout_s=0.02 if cause else 60
    )
    running = await calls.open(SMALL)
    await running.end(outcome=LEFT)

    go_on.set()
    await until(lambda: calls.tickets() == {})

    assert said(calls) == (Admission() if cause is None else taken_out(calls, cause))
    assert await calls.ends() == [("c1", "cancelled", 200)]


async def test_a_process_that_stops_leaves_the_server_of_a_call_that_works_on_in_doubt():
    calls = await calls_of(Answer(pieces=(b"a", asyncio.Event())), aborts_on_disconnect=False)
    running = await calls.open(SMALL)
    await running.end(outcome=LEFT)

    await calls.doors.left.close()
    calls.world.clock.advance(15)
    await calls.world.tick()

    assert (said(calls), calls.tickets()) == (taken_out(calls, DIED), {})


def closed_after_the_grant(calls: Calls, state: AdmissionState = AdmissionState.QUARANTINED) -> None:
    """Let an operator close the server of the first grant before its caller can use it."""
    real = calls.world.ledger.commit

    async def commit(**changes: Any) -> Any:
        committed = await real(**changes)
        calls.world.ledger.commit = real  # type: ignore[method-assign]
        (ticket,) = calls.world.ledger.replica.tickets.values()
        admission = Admission(state=state, since=calls.world.clock())
        await calls.world.ledger.admission_set(server=ticket.server, admission=admission)
        return committed

    calls.world.ledger.commit = commit  # type: ignore[method-assign]


async def test_a_place_on_a_server_that_was_taken_out_meanwhile_is_given_back_unsent_and_another_is_found():
    """A-28: readiness is checked before and after waiting."""
    calls = Calls(await both(), Answer())
    closed_after_the_grant(calls)

    running = await calls.open(SMALL)

    assert [placed and placed.attempt for placed in calls.places] == [2]
    assert len(calls.relay.asked) == 1
    assert said(calls, running.placed.ticket.server).is_open
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))
    assert await calls.ends() == [("c1", "unsent", None), ("c1.2", "ok", 200)]


async def test_where_there_is_no_other_place_the_call_waits_and_is_told():
    calls = Calls(await alone(), Answer())
    closed_after_the_grant(calls)

    with pytest.raises(NoPlace) as caught:
        await calls.open(SMALL)

    assert (caught.value.reason, calls.relay.asked, calls.tickets()) == (Reason.GPU_CLOSED, [], {})


@pytest.mark.parametrize("state", [AdmissionState.PAUSED, AdmissionState.DRAINING])
async def test_what_was_granted_before_a_pause_runs(state):
    """Nobody doubts the engine: only what comes later is kept away."""
    calls = Calls(await alone(), Answer())
    closed_after_the_grant(calls, state)

    running = await calls.open(SMALL)

    assert (said(calls).state, calls.tickets()) == (state, {"t-c1": "gpu-1"})
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))
