"""Callers that leave calls at engines that work on: their places are kept until the engines end."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from providers.core.engines.base import Trouble
from providers.core.relaying import RelayFailed
from scheduler.core.admission.retrying import Failure
from scheduler.core.ledger import CallEnd, Outcome
from scheduler.ports import LedgerUnavailable
from scheduler.services.attempts import NoAnswer
from tests.fakes.scripted_relay import Answer
from tests.services.test_attempts import SMALL, Calls, alone, both, until
from tests.services.world import World

LEFT = Outcome(ok=False, end=CallEnd.CANCELLED)


async def works_on(world: World, **more: Any) -> World:
    """Let the engines of a world work on when their callers leave."""
    servers = [
        replace(record.config, aborts_on_disconnect=False, **more) for record in world.ledger.replica.servers.values()
    ]
    await world.ledger.configure(servers=servers, footprints={}, weights={})
    return world


async def calls_of(*script: Answer | Trouble | asyncio.Event, **more: Any) -> Calls:
    """Make calls to one such engine."""
    return Calls(await works_on(await alone(), **more), *script)


async def test_the_place_is_kept_and_the_rest_is_read_and_thrown_away_until_the_engine_ends():
    """A-23."""
    finish = asyncio.Event()
    answer = Answer(pieces=(b"a", b"b", finish, b"c"))
    calls = await calls_of(answer)
    running = await calls.open(SMALL)

    await running.end(outcome=LEFT)

    assert (calls.tickets(), answer.is_closed) == ({"t-c1": "gpu-1"}, False)
    assert calls.held.holds(ticket="t-c1"), "renewed like any other"
    await until(lambda: calls.world.ledger.replica.tickets["t-c1"].left_at is not None)
    finish.set()
    await until(lambda: calls.tickets() == {})
    assert (answer.is_closed, calls.held.holds(ticket="t-c1")) == (True, False)
    assert await calls.ends() == [("c1", "cancelled", 200)]


async def test_each_piece_is_a_sign_of_life_also_when_nobody_waits_for_it():
    """An engine that works on for nobody must not be taken for a silent one."""
    more, never = asyncio.Event(), asyncio.Event()
    calls = await calls_of(Answer(pieces=(b"a", more, b"b", never)))
    running = await calls.open(SMALL)
    await running.end(outcome=LEFT)
    calls.world.clock.advance(7)

    more.set()
    (held,) = calls.held._held.values()
    progress = held.progress
    await until(lambda: progress.at == calls.world.clock())

    await calls.doors.left.close()


@pytest.mark.parametrize("has_head", [False, True], ids=["no head", "no byte"])
async def test_a_caller_that_leaves_before_the_first_byte_leaves_its_place_behind(has_head):
    finish = asyncio.Event()
    calls = await calls_of(Answer(pieces=(finish,)) if has_head else finish)
    opening = asyncio.ensure_future(calls.open(SMALL))
    await calls.relay.opened.wait()
    await asyncio.sleep(0)

    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert calls.tickets() == {"t-c1": "gpu-1"}
    finish.set()
    await until(lambda: calls.tickets() == {})
    assert [end for _, end, _ in await calls.ends()] == ["cancelled"]


async def test_a_caller_that_leaves_before_its_call_was_sent_leaves_nothing_behind():
    """A-21: nobody is at work on what was never sent, and nobody sends it any more."""
    calls = await calls_of()
    calls.relay.is_connected.clear()
    opening = asyncio.ensure_future(calls.open(SMALL))
    await until(lambda: bool(calls.tickets()))
    await asyncio.sleep(0)

    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    calls.relay.is_connected.set()
    await asyncio.sleep(0)

    assert (calls.tickets(), calls.relay.asked) == ({}, [])
    assert [end for _, end, _ in await calls.ends()] == ["cancelled"]


async def test_an_engine_that_never_ends_keeps_its_place_for_the_call_timeout_and_no_longer():
    answer = Answer(pieces=(b"a", asyncio.Event()))
    calls = await calls_of(answer, call_timeout_s=0.02)
    running = await calls.open(SMALL)

    await running.end(outcome=LEFT)

    assert calls.tickets() == {"t-c1": "gpu-1"}
    await until(lambda: calls.tickets() == {})
    assert answer.is_closed
    assert await calls.ends() == [("c1", "cancelled", 200)]


@pytest.mark.parametrize("trouble", [Trouble.BROKEN, Trouble.TIMED_OUT])
async def test_an_engine_that_dies_for_nobody_frees_its_place(trouble):
    more = asyncio.Event()
    calls = await calls_of(Answer(pieces=(b"a", more, trouble)))
    running = await calls.open(SMALL)
    await running.end(outcome=LEFT)

    more.set()

    await until(lambda: calls.tickets() == {})
    assert await calls.ends() == [("c1", "cancelled", 200)]


@pytest.mark.parametrize(
    ("end", "reads_on"),
    [(CallEnd.OK, False), (CallEnd.REFUSED, False), (CallEnd.ERROR, False), (CallEnd.TRUNCATED, True)],
)
async def test_an_engine_that_said_its_last_word_is_not_waited_for_and_one_that_was_cut_off_is(end, reads_on):
    """Its final mark, its no and its error all say that it is done; an answer that is too long is cut off by us."""
    answer = Answer(pieces=(b"a", asyncio.Event()))
    calls = await calls_of(answer)
    running = await calls.open(SMALL)

    await running.end(outcome=Outcome(ok=end is CallEnd.OK, end=end))

    assert (bool(calls.tickets()), not answer.is_closed) == (reads_on, reads_on)
    await calls.doors.left.close()


@pytest.mark.parametrize("pieces", [(b"a",), (b"a", Trouble.BROKEN), ()], ids=["ended", "broke", "empty"])
async def test_an_answer_that_is_over_leaves_nothing_to_wait_for(pieces):
    calls = await calls_of(Answer(pieces=pieces))
    running = await calls.open(SMALL)
    if running.first:
        with contextlib.suppress(RelayFailed):
            await running.piece()

    await running.end(outcome=Outcome(ok=False, end=CallEnd.TRUNCATED))

    assert calls.tickets() == {}
    assert not calls.doors.left._tasks
    assert await calls.ends() == [("c1", "truncated", 200)]


async def test_where_the_place_was_taken_back_there_is_nothing_to_keep():
    """A-25: the ledger took the ticket back; the connection is closed, and whoever has the place now keeps it."""
    never = asyncio.Event()
    answer = Answer(pieces=(b"a", never))
    calls = await calls_of(answer)
    running = await calls.open(SMALL)
    calls.held.let_go(ticket="t-c1")

    await running.end(outcome=LEFT)

    assert answer.is_closed
    assert not calls.doors.left._tasks


async def test_a_place_that_is_lost_while_its_engine_works_on_ends_the_reading():
    answer = Answer(pieces=(b"a", asyncio.Event()))
    calls = await calls_of(answer)
    running = await calls.open(SMALL)
    await running.end(outcome=LEFT)
    await until(lambda: calls.world.ledger.replica.tickets["t-c1"].left_at is not None)
    (held,) = calls.held._held.values()

    held.on_lapse()
    await until(lambda: answer.is_closed)

    assert (calls.held.holds(ticket="t-c1"), await calls.ends()) == (False, [])


async def test_a_process_that_stops_closes_the_connections_and_gives_no_place_back():
    """Nobody would know whether the engine still works: the place lapses with its lease, as where a process dies."""
    first, second = Answer(pieces=(b"a", asyncio.Event())), Answer(pieces=(b"a", asyncio.Event()))
    calls = await calls_of(first, second, slots=2)
    before, after = await calls.open(SMALL), await calls.open(SMALL, id="c2")
    await before.end(outcome=LEFT)

    await calls.doors.left.close()
    await after.end(outcome=LEFT)

    assert (first.is_closed, second.is_closed) == (True, True)
    assert calls.tickets() == {"t-c1": "gpu-1", "t-c2": "gpu-1"}
    assert not any(calls.held.holds(ticket=ticket) for ticket in calls.tickets())
    assert await calls.ends() == []
    calls.world.clock.advance(15)
    await calls.world.tick()
    assert calls.tickets() == {}


async def test_an_answer_that_begins_after_its_caller_left_is_closed_with_the_process():
    begin, answer = asyncio.Event(), Answer(pieces=(b"a", asyncio.Event()))
    calls = await calls_of()

    async def slow(*, on_sent: Callable[[], None], **asked: Any) -> Answer:
        calls.relay.opened.set()
        on_sent()
        await begin.wait()
        return answer

    calls.relay.open = slow  # type: ignore[method-assign]
    opening = asyncio.ensure_future(calls.open(SMALL))
    await calls.relay.opened.wait()
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    begin.set()
    await until(lambda: answer._next > 0)

    await calls.doors.left.close()

    assert (answer.is_closed, calls.tickets()) == (True, {"t-c1": "gpu-1"})


async def test_a_ledger_that_is_away_for_a_moment_costs_no_place():
    finish = asyncio.Event()
    calls = await calls_of(Answer(pieces=(b"a", finish)))
    running = await calls.open(SMALL)
    real, refused = calls.world.ledger.commit, []

    async def commit(**changes: Any) -> Any:
        if not refused:
            refused.append(changes)
            raise LedgerUnavailable("away")
        return await real(**changes)

    calls.world.ledger.commit = commit  # type: ignore[method-assign]
    await running.end(outcome=LEFT)
    await until(lambda: bool(refused))
    assert calls.tickets() == {"t-c1": "gpu-1"}
    finish.set()

    await until(lambda: calls.tickets() == {})
    assert await calls.ends() == [("c1", "cancelled", 200)]


async def test_work_for_nobody_that_fails_is_told_to_the_log_and_lapses(caplog):
    calls = await calls_of(Answer(pieces=(b"a", asyncio.Event())))
    running = await calls.open(SMALL)

    async def commit(**changes: Any) -> Any:
        raise ValueError("secret")

    calls.world.ledger.commit = commit  # type: ignore[method-assign]
    await running.end(outcome=LEFT)
    await until(lambda: not calls.held.holds(ticket="t-c1"))

    assert "left_call_failed error=ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_what_broke_after_its_head_is_not_sent_again_where_the_engine_works_on():
    """Elsewhere such an engine works on nothing, and the call is sent to another one."""
    calls = Calls(await works_on(await both()), Answer(pieces=(Trouble.BROKEN,)), Answer())

    with pytest.raises(NoAnswer) as caught:
        await calls.open(SMALL)

    assert (caught.value.failure, len(calls.relay.asked), calls.tickets()) == (Failure.BROKEN, 1, {})
