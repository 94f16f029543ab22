"""Waiters: the line, grants, hand-over, standing aside, fair tags, drains (scheduling rules, section 4)."""

import asyncio
from dataclasses import replace

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Refusal, Settled
from scheduler.core.types import TicketState
from scheduler.ports import LineFull, TicketGone
from tests.contracts.builders import World, ticket, waiter


async def test_enqueue_tells_the_version_before_so_that_no_change_is_missed(world: World) -> None:
    await world.gpu("14b")
    before = world.ledger.replica.version

    stored, version = await world.ledger.enqueue(waiter=waiter("w1"))

    assert (version, world.ledger.replica.version) == (before, before + 1)
    assert world.ledger.replica.waiters == {"w1": stored}


async def test_enqueueing_twice_is_once(world: World) -> None:
    first = await world.waits("w1")
    version = world.ledger.replica.version

    again, before = await world.ledger.enqueue(waiter=waiter("w1", agent="impostor"))

    assert (again, before) == (first, version)


@pytest.mark.parametrize("config", [SchedulerConfig(max_waiters=2)])
async def test_a_full_line_takes_nobody(world: World) -> None:
    await world.waits("w1")
    await world.waits("w2")

    with pytest.raises(LineFull) as refused:
        await world.waits("w3")

    assert refused.value.limit == 2
    await world.ledger.give_up(waiter="w1", now=1000.0)
    await world.waits("w3")


async def test_a_waiter_hears_once_that_it_waits(world: World) -> None:
    await world.gpu()
    await world.waits("w1")
    await world.told("w1", "14b", action="queue", server="gpu-1", eta_s=20.0)
    await world.told("w1", "32b")

    events = await world.events("waiting")

    assert [(e["call"], e["model"], e["server"], e["action"], e["reason"]) for e in events] == [
        ("w1", "14b", "gpu-1", "queue", "gpu-busy")
    ]
    stored = world.ledger.replica.waiters["w1"]
    assert (stored.model, stored.server, stored.action, stored.eta_s) == ("32b", None, "wait", None)


async def test_only_what_it_waits_for_is_taken_from_a_wait_change(world: World) -> None:
    stored = await world.waits("w1", crew="c")

    await world.told("w1", "14b", crew="other", ticket="forged", start_tag=99.0)

    assert world.ledger.replica.waiters["w1"] == replace(stored, model="14b")


@pytest.mark.parametrize("eta_s", [20.0, 20.9, 19.1])
async def test_saying_the_same_again_is_no_new_version(world: World, eta_s: float) -> None:
    """An estimate that only ticks on would otherwise wake everybody, who would write new estimates."""
    await world.waits("w1")
    await world.told("w1", "14b", action="queue", server="gpu-1", eta_s=20.0)
    version = world.ledger.replica.version

    assert await world.told("w1", "14b", action="queue", server="gpu-1", eta_s=eta_s) is None
    assert world.ledger.replica.version == version


async def test_an_estimate_that_really_moved_is_written_down(world: World) -> None:
    await world.waits("w1")
    await world.told("w1", "14b", eta_s=20.0)

    await world.told("w1", "14b", eta_s=40.0)

    assert world.ledger.replica.waiters["w1"].eta_s == 40.0


async def test_a_granted_waiter_is_handed_its_ticket_once(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1", call="w1", arrived_at=1000.0)
    world.clock.advance(5)

    settled = await world.picks_up("w1")

    held = ticket("t1", call="w1", arrived_at=1000.0, started_at=1005.0)
    assert settled == Settled(ticket=held, model="14b", waited_s=5.0)
    assert world.tickets == {"t1": held}
    assert world.ledger.replica.waiters == {}
    with pytest.raises(TicketGone):
        await world.picks_up("w1")


async def test_nothing_is_handed_out_while_the_load_runs(world: World) -> None:
    """The engine must never have to make room by itself."""
    await world.gpu()
    await world.waits("w1")
    assert await world.picks_up("w1") is None
    await world.grant_load("t1", "14b", waiter="w1")

    assert await world.picks_up("w1") is None
    await world.loaded("14b")
    settled = await world.picks_up("w1")
    assert settled is not None
    assert settled.ticket is not None
    assert settled.ticket.state is TicketState.ACTIVE


async def test_a_waiter_is_granted_once(world: World) -> None:
    await world.gpu("14b", slots=2)
    await world.waits("w1")

    results = await asyncio.gather(world.grant("t1", waiter="w1"), world.grant("t2", waiter="w1"))

    assert sorted(results, key=str) == sorted([None, Refusal.WAITER_GONE], key=str)


async def test_a_waiter_that_gave_up_is_not_granted(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.ledger.give_up(waiter="w1", now=1000.0)

    assert await world.grant("t1", waiter="w1") is Refusal.WAITER_GONE
    assert world.tickets == {}


async def test_a_place_handed_to_a_caller_that_is_gone_goes_to_the_next(world: World) -> None:
    """C35: the first waiter is granted and cancelled at that very moment; the slot is not lost."""
    await world.gpu("14b")
    await world.grant("A")
    await world.waits("W1")
    await world.waits("W2", agent="b")
    await world.releases("A")
    await world.grant("t1", waiter="W1")

    assert await world.ledger.give_up(waiter="W1", now=1001.0) is True

    assert await world.grant("t2", waiter="W2", agent="b") is None
    await world.picks_up("W2")
    await world.releases("t2")
    assert (world.tickets, world.ledger.replica.waiters) == ({}, {})


async def test_giving_up_twice_is_harmless(world: World) -> None:
    await world.waits("w1")

    assert await world.ledger.give_up(waiter="w1", now=1000.0) is True
    assert await world.ledger.give_up(waiter="w1", now=1000.0) is False


@pytest.mark.parametrize("is_granted", [False, True])
@pytest.mark.parametrize(("reason", "told"), [("", None), ("gpu-busy", "gpu-busy")])
async def test_the_journal_tells_who_was_sent_away_from_who_left(
    world: World, reason: str, told: str | None, is_granted: bool
) -> None:
    """History took a wait that had its limit for a caller that lost patience."""
    await world.gpu("14b")
    await world.waits("w1")
    if is_granted:
        await world.grant("t1", waiter="w1")

    await world.ledger.give_up(waiter="w1", now=1000.0, reason=reason)

    ended = (await world.ledger.journal(after="", count=100))[-1].events[-1]
    assert (ended["type"], ended.get("reason")) == ("given_up", told)


async def test_a_load_goes_on_when_its_caller_leaves(world: World) -> None:
    await world.gpu()
    await world.waits("w1")
    await world.grant_load("t1", "14b", waiter="w1")

    await world.ledger.give_up(waiter="w1", now=1000.0)

    assert world.tickets == {}
    assert [load.model for load in world.loads] == ["14b"]
    assert await world.grant("t2", "14b") is None


async def test_who_stands_aside_hears_why_and_is_forgotten(world: World) -> None:
    await world.waits("w1", "32b")
    await world.told("w1", "32b")
    world.clock.advance(90)
    assert await world.stand_aside("w1", model="32b") is None

    settled = await world.picks_up("w1")

    assert settled == Settled(reason="gpu-busy", model="32b", waited_s=90.0)
    assert world.ledger.replica.waiters == {}
    with pytest.raises(TicketGone):
        await world.picks_up("w1")


async def test_who_stood_aside_gets_nothing_any_more(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.stand_aside("w1")

    assert await world.grant("t1", waiter="w1") is Refusal.WAITER_GONE
    assert await world.told("w1", "14b") is Refusal.WAITER_GONE
    assert await world.stand_aside("w1") is Refusal.WAITER_GONE


async def test_a_caller_whose_load_outlives_all_patience_stands_aside_and_the_load_goes_on(world: World) -> None:
    await world.gpu()
    await world.waits("w1")
    await world.grant_load("t1", "14b", waiter="w1")

    assert await world.stand_aside("w1") is None

    assert world.tickets == {}
    assert [load.model for load in world.loads] == ["14b"]
    settled = await world.picks_up("w1")
    assert settled is not None
    assert settled.reason == "gpu-busy"


async def test_a_caller_whose_place_is_ready_does_not_stand_aside(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1")

    assert await world.stand_aside("w1") is Refusal.WAITER_GONE
