"""Whatever is held has a lease and a fence; what a call teaches when it ends (scheduling rules, section 5)."""

import pytest

from scheduler.core.ledger import CallEnd, Outcome, Reaped, Refusal, ServerLearned, Use
from scheduler.ports import TicketGone
from tests.contracts.builders import World, load, ticket

FAILED = Outcome(ok=False)


async def test_a_released_slot_is_free_at_once(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")

    assert await world.releases("t1") is True
    assert await world.grant("t2", agent="b") is None


async def test_releasing_twice_is_harmless(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    await world.releases("t1")
    version = world.ledger.replica.version

    assert await world.releases("t1") is False
    assert world.ledger.replica.version == version


async def test_a_late_release_of_a_lapsed_ticket_leaves_the_next_holder_alone(world: World) -> None:
    await world.gpu("14b")
    await world.grant("P1")
    world.clock.advance(15)
    await world.ledger.reap(now=world.clock())
    await world.grant("P2", agent="b")

    assert await world.releases("P1") is False
    assert set(world.tickets) == {"P2"}


async def test_a_dead_holders_ticket_lapses_at_the_end_of_its_lease_and_not_before(world: World) -> None:
    """C33: the slot of a caller that vanished is free again without anybody's help."""
    await world.gpu("14b")
    await world.grant("t1")
    world.clock.advance(14.9)
    assert await world.ledger.reap(now=world.clock()) == Reaped()
    world.clock.advance(0.1)

    assert await world.ledger.reap(now=world.clock()) == Reaped(tickets=1)
    assert world.tickets == {}
    with pytest.raises(TicketGone):
        await world.ledger.renew(ticket="t1")


async def test_a_long_stream_keeps_its_ticket_by_renewing(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    for _ in range(360):
        world.clock.advance(5)
        assert await world.ledger.renew(ticket="t1") == 15.0
    version = world.ledger.replica.version

    assert await world.ledger.reap(now=world.clock()) == Reaped()
    assert set(world.tickets) == {"t1"}
    assert world.ledger.replica.version == version


async def test_a_ticket_that_is_gone_cannot_be_renewed(world: World) -> None:
    with pytest.raises(TicketGone):
        await world.ledger.renew(ticket="t1")


async def test_a_waiter_nobody_asks_for_lapses_with_its_grant(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1")
    world.clock.advance(29.9)
    assert await world.ledger.reap(now=world.clock()) == Reaped()
    world.clock.advance(0.1)

    assert await world.ledger.reap(now=world.clock()) == Reaped(waiters=1)
    assert (world.tickets, world.ledger.replica.waiters) == ({}, {})
    assert [(e["call"], e["ticket"]) for e in await world.events("lapsed")] == [("t1", "t1")]


async def test_asking_keeps_a_waiter_and_its_grant_alive(world: World) -> None:
    await world.gpu()
    await world.waits("w1")
    await world.grant_load("t1", "14b", waiter="w1")
    for _ in range(5):
        world.clock.advance(29)
        await world.picks_up("w1")

    assert await world.ledger.reap(now=world.clock()) == Reaped(undriven=(load("14b"),))
    assert set(world.tickets) == {"t1"}


async def test_a_ticket_lives_by_its_own_lease_from_the_hand_over_on(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1")
    world.clock.advance(20)
    await world.picks_up("w1")
    world.clock.advance(14.9)
    assert await world.ledger.reap(now=world.clock()) == Reaped()
    world.clock.advance(0.1)

    assert await world.ledger.reap(now=world.clock()) == Reaped(tickets=1)


async def test_a_wait_that_stood_aside_unheard_is_forgotten_but_has_ended_once(world: World) -> None:
    await world.waits("w1")
    await world.stand_aside("w1")
    world.clock.advance(30)

    assert await world.ledger.reap(now=world.clock()) == Reaped(waiters=1)
    assert world.ledger.replica.waiters == {}
    assert [e["type"] for e in await world.events("stood_aside", "lapsed", "given_up")] == ["stood_aside"]


async def test_reaping_names_the_loads_that_nobody_drives(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")
    await world.grant_load("t2", "8b", agent="b")
    await world.ledger.load_begin(server="gpu-1", model="8b", runner="r1")

    assert (await world.ledger.reap(now=1000.0)).undriven == (load("14b"),)
    world.clock.advance(10)
    assert (await world.ledger.reap(now=1010.0)).undriven == (load("14b"), load("8b"))


async def test_a_place_whose_waiter_is_released_by_id_sends_it_back_into_the_line(world: World) -> None:
    await world.gpu("14b")
    before = await world.waits("w1")
    await world.grant("t1", waiter="w1")

    assert await world.releases("t1") is True
    assert world.ledger.replica.waiters == {"w1": before}


async def test_a_call_teaches_how_long_calls_take(world: World) -> None:
    """From the usual 30 s on, a fifth of the way each time: one odd call must not turn decisions around."""
    await world.gpu("14b")
    for seconds in (10, 20):
        await world.grant("t1", started_at=world.clock())
        world.clock.advance(seconds)
        await world.releases("t1")

    assert world.record().learned == ServerLearned(
        call_s=pytest.approx(0.8 * (0.8 * 30 + 2) + 4), success_rate=1.0, answered_at=1030.0
    )


async def test_a_failed_call_teaches_no_length_but_lowers_the_success_rate(world: World) -> None:
    await world.gpu("14b")
    for _ in range(2):
        await world.grant("t1", started_at=world.clock())
        world.clock.advance(10)
        await world.releases("t1", FAILED)

    learned = world.record().learned
    assert (learned.call_s, learned.success_rate) == (None, pytest.approx(0.64))


@pytest.mark.parametrize(
    ("end", "success_rate"),
    [
        (None, 0.8),
        (CallEnd.ERROR, 0.8),
        (CallEnd.TRUNCATED, 0.8),
        (CallEnd.REFUSED, None),
        (CallEnd.CANCELLED, None),
    ],
)
async def test_only_what_the_engine_did_wrong_lowers_its_success_rate(
    world: World, end: CallEnd | None, success_rate: float | None
) -> None:
    """C25: bad requests, and clients that left, pushed the only server into a cool-down."""
    await world.gpu("14b")
    await world.grant("t1", started_at=world.clock())
    world.clock.advance(10)
    await world.releases("t1", Outcome(ok=False, end=end))

    learned = world.record().learned
    assert (learned.call_s, learned.success_rate) == (None, success_rate)
    assert [event["active_s"] for event in await world.events("released")] == [10.0]


async def test_a_call_counts_as_use_when_it_is_handed_over_and_keeps_its_model_fresh_to_its_end(world: World) -> None:
    await world.gpu("14b", slots=2)
    await world.waits("w1")
    await world.grant("t1", waiter="w1")
    assert world.ledger.replica.uses == {}
    await world.picks_up("w1")
    assert world.ledger.replica.uses == {"14b": Use(count=1, at=1000.0)}

    world.clock.advance(600)
    await world.grant("t2", agent="b")
    assert world.ledger.replica.uses == {"14b": Use(count=1.5, at=1600.0)}
    world.clock.advance(600)
    await world.releases("t2")

    assert world.ledger.replica.uses == {"14b": Use(count=0.75, at=2200.0)}


async def test_the_journal_tells_a_calls_whole_story(world: World) -> None:
    await world.gpu("14b", "8b")
    facts = {"crew": "c", "thread": "th", "phase": "mulling", "purpose": "mulling", "key": "k1"}
    await world.waits("w1", "32b", **facts)
    await world.told("w1", "32b")
    given = {"waiter": "w1", "call": "w1", "arrived_at": 1000.0, "granted_at": 1000.0, **facts}
    await world.grant_load("t1", "32b", evicts=("14b",), **given)
    await world.ledger.victim_gone(server="gpu-1", model="32b", victim="14b")
    await world.loaded("32b")
    await world.picks_up("w1")
    world.clock.advance(7)
    told = Outcome(ok=True, prompt_tokens=10, completion_tokens=20, end=CallEnd.OK, status=200, first_byte_at=1003.5)
    await world.releases("t1", told)

    entries = await world.ledger.journal(after="", count=100)
    story = [event for entry in entries for event in entry.events if event["type"] != "server_changed"]

    assert [event["type"] for event in story] == [
        *("enqueued", "waiting", "load_started", "granted"),
        *("victim_gone", "load_done", "delivered", "released"),
    ]
    call = {"call": "w1", "agent": "a", "priority": "interactive", "model": "32b", **facts}
    assert all(
        call.items() <= event.items()
        for event in story
        if event["type"] not in ("victim_gone", "load_done", "enqueued")
    )
    assert story[0]["candidates"] == ["32b"]
    assert story[2]["evicts"] == ["14b"]
    assert story[-1] == call | {
        "type": "released",
        "ticket": "t1",
        "waiter": None,
        "plan": None,
        "server": "gpu-1",
        "action": "evict",
        "evicted": ["14b"],
        "arrived_at": 1000.0,
        "granted_at": 1000.0,
        "started_at": 1000.0,
        "active_s": 7.0,
        "ok": True,
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "end": "ok",
        "status": 200,
        "first_byte_at": 1003.5,
        "ambiguity": None,
    }


async def test_the_journal_is_read_on_from_where_one_was(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    everything = await world.ledger.journal(after="0", count=100)

    first = await world.ledger.journal(after="", count=2)
    rest = await world.ledger.journal(after=first[-1].id, count=100)

    assert [*first, *rest] == list(everything)
    assert [entry.version for entry in everything] == [1, 2, 3]
    assert everything[-1].at == 1000.0
    assert await world.ledger.journal(after=everything[-1].id, count=1) == ()


async def test_the_same_slot_serves_a_waiter_after_a_call(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    await world.waits("w1", agent="b")
    assert await world.grant("t2", waiter="w1", agent="b") is Refusal.NO_SLOT
    await world.releases("t1")

    assert await world.grant("t2", waiter="w1", agent="b") is None
    assert world.tickets["t2"] == ticket("t2", waiter="w1", agent="b")
