"""A-33: what becomes of calls while the ledger cannot be reached, and once it is back."""

import asyncio
from dataclasses import replace

import pytest

from scheduler.core.admission.local import LocalState
from scheduler.core.attempt_history import AttemptOutcome
from scheduler.core.gate import FailMode
from scheduler.core.types import Priority
from scheduler.ports import LedgerUnavailable, LineFull
from scheduler.services import local
from scheduler.services.placing import NoPlace
from tests.services.lost import MODEL, LostWorld, lost_world, settle
from tests.services.world import call


def server_of(task):
    return task.result().ticket.server


async def test_without_the_ledger_a_server_that_says_so_takes_as_many_calls_as_it_may(world):
    world.ledger.lose()

    tickets = [await world.runs("c1"), await world.runs("c2")]
    third = world.asks("c3")
    await settle()

    assert tickets == ["local-c1", "local-c2"]
    assert not third.done()
    assert world.doors.local.state() == LocalState(is_on=True, servers=("gpu-1",), running={"gpu-1": 2}, waiting=1)
    await world.ends("local-c1")
    settled = await third
    assert (settled.ticket.id, settled.ticket.action) == ("local-c3", "local")
    assert world.doors.local.ended == {("gpu-1", AttemptOutcome.OK): 1}


async def test_what_is_lost_is_asked_once_and_not_again_for_each_call(world):
    """A ledger that hangs would cost each call its time-out."""
    world.may_look.clear()
    world.ledger.lose()
    await world.runs("c1")
    await settle()
    asked = world.ledger.asked

    await world.runs("c2")

    assert world.ledger.asked == asked


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"fail_mode": FailMode.CLOSED}, call("a", MODEL)),
        ({}, call("a", "qwen3:32b")),
        ({}, replace(call("a", MODEL), prompt_tokens=10**6)),
    ],
    ids=["the server stays closed", "the model is not in memory", "the prompt is too long"],
)
async def test_what_cannot_be_served_here_is_told_that_the_ledger_is_away(config, wanted):
    world = await lost_world(context_length=4096, **config)
    world.ledger.lose()

    with pytest.raises(LedgerUnavailable, match="Connection refused"):
        await world.asks("c1", wanted)

    assert world.doors.local.ended == {("", AttemptOutcome.ADMISSION_UNAVAILABLE): 1}
    assert world.doors.local.is_on is ((config == {} and wanted.prompt_tokens is not None) or config == {})
    await world.doors.local.close()


async def test_a_process_that_has_no_picture_stays_closed():
    world = LostWorld()
    world.ledger.lose()

    with pytest.raises(LedgerUnavailable):
        await world.asks("c1")

    assert not world.doors.local.is_on


async def test_tickets_that_were_held_when_the_ledger_went_away_count(world):
    held = await world.runs("c1")
    world.ledger.lose()
    await world.runs("c2")
    third = world.asks("c3")
    await settle()
    assert (held, third.done()) == ("t-c1", False)

    await world.ends(held)

    assert (await third).ticket.id == "local-c3"


async def test_a_call_that_the_ledger_places_in_its_last_moment_counts_before_its_caller_knows(world):
    await world.runs("c1")
    commit, granted, may_know = world.ledger.commit, asyncio.Event(), asyncio.Event()

    async def last_words(**what):
        committed = await commit(**what)
        world.ledger.lose()
        granted.set()
        await may_know.wait()
        return committed

    world.ledger.commit = last_words
    second = asyncio.create_task(world.runs("c2"))
    await granted.wait()
    third = world.asks("c3")
    await settle()
    assert (second.done(), third.done()) == (False, False)

    may_know.set()
    await settle()

    assert (second.result(), third.done()) == ("t-c2", False)
    third.cancel()


async def test_the_line_is_first_come_first_served_and_interactive_goes_before_background(world):
    background = replace(call("b", MODEL), priority=Priority.BACKGROUND)
    world.ledger.lose()
    running = [await world.runs("c1"), await world.runs("c2")]
    waits = {}
    for id, wanted in (("b1", background), ("i1", None), ("b2", background), ("i2", None)):
        waits[id] = world.asks(id, wanted)
        await settle()
        world.clock.advance(1)

    served = []
    for _ in range(4):
        await world.ends(running.pop(0))
        await settle()
        (new,) = [id for id, task in waits.items() if task.done() and id not in served]
        served.append(new)
        running.append(world.hold(waits[new].result()))

    assert served == ["i1", "i2", "b1", "b2"]


async def test_who_waits_for_a_busy_model_is_in_nobodys_way():
    world = await lost_world(slots=1)
    record = world.ledger.replica.servers["gpu-1"]
    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=10)
    both = (*record.seen.residents, replace(record.seen.residents[0], model="qwen3:8b"))
    await world.ledger.probe_end(
        server="gpu-1", probe=probe, seen=replace(record.seen, residents=both, probed_at=world.clock())
    )
    world.ledger.lose()
    await world.runs("c1")
    waits = world.asks("c2")
    await settle()

    assert await world.runs("c3", call("a", "qwen3:8b")) == "local-c3"

    waits.cancel()
    await world.doors.local.close()


@pytest.mark.parametrize(("key", "reason"), [("", "gpu-busy"), ("k", "key-limit")])
async def test_who_waits_too_long_is_told_what_kept_it(world, key, reason):
    of_key = replace(call("a", MODEL), key=key, key_limit=1 if key else None)
    world.ledger.lose()
    await world.runs("c1", of_key)
    if not key:
        await world.runs("c2", of_key)

    with pytest.raises(NoPlace) as caught:
        await world.asks("late", of_key, wait_s=0)

    assert (caught.value.reason, caught.value.model) == (reason, MODEL)
    assert world.doors.local.state().waiting == 0


async def test_the_line_is_short(world, monkeypatch):
    monkeypatch.setattr(local, "MOST_WAITING", 2)
    world.ledger.lose()
    await world.runs("c1")
    await world.runs("c2")
    waits = [world.asks("c3"), world.asks("c4")]
    await settle()

    with pytest.raises(LineFull, match="2 calls wait already"):
        await world.asks("c5")

    assert world.doors.local.state().waiting == 2
    for each in waits:
        each.cancel()


async def test_who_leaves_the_line_is_never_placed(world):
    """A-20, without the ledger."""
    world.ledger.lose()
    first = await world.runs("c1")
    await world.runs("c2")
    leaves, stays = world.asks("c3"), world.asks("c4")
    await settle()

    leaves.cancel()
    await world.ends(first)
    await settle()

    assert (leaves.cancelled(), stays.result().ticket.id) == (True, "local-c4")
    assert world.doors.local.state().running == {"gpu-1": 2}


async def test_who_leaves_in_the_moment_it_is_placed_gives_the_place_back(world):
    """A-21, without the ledger."""
    world.ledger.lose()
    first = await world.runs("c1")
    await world.runs("c2")
    leaves, stays = world.asks("c3"), world.asks("c4")
    await settle()

    await world.ends(first)
    leaves.cancel()
    await settle()

    assert (leaves.cancelled(), stays.result().ticket.id) == (True, "local-c4")
    assert world.doors.local.ended["gpu-1", AttemptOutcome.CANCELLED_RUNNING] == 1


async def test_a_caller_that_leaves_while_the_ledger_is_away_is_gone(world):
    """It was told that the ledger is away, and would have been placed here."""
    await world.runs("c1")
    await world.runs("c2")
    waits = world.asks("c3")
    await settle()
    assert "c3" in world.ledger.replica.waiters

    world.ledger.lose()
    waits.cancel()
    await settle()

    assert waits.cancelled()
    assert world.doors.local.state().running == {}


async def test_giving_a_place_back_twice_changes_nothing(world):
    """A-25, without the ledger."""
    world.ledger.lose()
    first = await world.runs("c1")

    await world.ends(first)
    await world.ends(first)

    assert world.doors.local.ended == {("gpu-1", AttemptOutcome.OK): 1}
    assert world.doors.local.state().running == {}
