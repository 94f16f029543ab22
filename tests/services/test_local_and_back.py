"""A-33: the ledger goes away while calls wait and run, and comes back: nothing is lost."""

import asyncio
from dataclasses import replace

import pytest

from scheduler.core.admission.local import LocalState
from scheduler.core.attempt_history import AttemptOutcome, fold_attempt
from scheduler.core.gate import FailMode
from scheduler.core.types import Priority
from scheduler.ports import LedgerUnavailable
from scheduler.services import returning
from tests.fakes.memory_ledger import MemoryLedger
from tests.services.lost import MODEL, WELL, lost_world, settle
from tests.services.world import call

OFF = LocalState(is_on=False, servers=(), running={}, waiting=0)


async def outcomes(world) -> dict[str, AttemptOutcome | None]:
    """Say how history will tell that attempts ended."""
    records = {}
    for entry in await world.ledger.journal(after="", count=1000):
        for event in entry.events:
            id = str(event.get("call") or "")
            record = fold_attempt(record=records.get(id), event=event, at=entry.at)
            if record is not None:
                records[id] = record
    return {id: record.outcome for id, record in records.items()}


async def test_who_waits_for_the_ledger_comes_over_at_once_and_in_its_order(world):
    """Nobody asks for seconds on end: whoever waits would have slept until its next look."""
    running = [await world.runs("c1"), await world.runs("c2")]
    background = replace(call("b", MODEL), priority=Priority.BACKGROUND)
    waits = {}
    for id, wanted in (("b1", background), ("i1", None), ("i2", None)):
        waits[id] = world.asks(id, wanted)
        await settle()
        world.clock.advance(1)
    assert len(world.ledger.replica.waiters) == 3

    world.ledger.lose()
    for ticket in running:
        await world.ends(ticket)
        await settle()

    assert [id for id, task in waits.items() if task.done()] == ["i1", "i2"]
    world.hold(waits["i1"].result())
    await world.ends("local-i1")
    assert (await waits["b1"]).ticket.id == "local-b1"


async def test_once_it_is_back_who_waits_asks_it_again_and_who_runs_goes_on(world):
    world.ledger.lose()
    world.may_look.clear()
    first, second = await world.runs("c1"), await world.runs("c2")
    third = world.asks("c3")
    await settle()

    world.may_look.set()
    await world.is_back()
    await settle()
    settled = await third

    assert (settled.ticket.id, settled.ticket.action) == ("t-c3", "use")
    assert world.backs == 1
    assert world.doors.local.state() == replace(OFF, running={"gpu-1": 2})
    for ticket in (first, second):
        await world.ends(ticket)
    assert world.doors.local.state() == OFF
    assert set(world.ledger.replica.tickets) == {"t-c3"}, "what began here is no affair of the ledger's"


async def test_who_stood_in_the_ledgers_line_has_its_place_in_it_still(world):
    await world.runs("c1")
    await world.runs("c2")
    waits = world.asks("c3")
    await settle()
    world.may_look.clear()
    world.ledger.lose()
    other = world.asks("c4")
    await settle()
    assert world.doors.local.state().waiting == 2

    world.may_look.set()
    await world.is_back()
    await settle()

    entries = await world.ledger.journal(after="", count=99)
    told = [(event["type"], event["call"]) for entry in entries for event in entry.events if "call" in event]
    assert [each for each in told if each[1] in ("c3", "c4") and each[0] != "waiting"] == [
        ("enqueued", "c3"),
        ("enqueued", "c4"),
    ]
    await world.ends("t-c1")
    assert (await waits).ticket.id == "t-c3"
    other.cancel()


async def test_what_the_ledger_still_holds_for_calls_that_went_on_here_is_taken_back_when_it_returns(world):
    """Their waits and tickets would keep places from others until their leases end."""
    running = [await world.runs("c1"), await world.runs("c2")]
    waits = world.asks("c3")
    await settle()
    world.ledger.lose()
    world.may_look.clear()
    for ticket in running:
        await world.ends(ticket)
    assert (await waits).ticket.id == "local-c3"
    assert set(world.ledger.replica.waiters) == {"c3"}

    world.may_look.set()
    await world.is_back()

    assert world.ledger.replica.waiters == {}
    assert (await outcomes(world))["c3"] is AttemptOutcome.ADMISSION_UNAVAILABLE


async def test_a_grant_that_comes_when_the_ledger_is_lost_already_takes_no_place_too_many(world):
    """Its step was carried out, its answer was late: this process has given its places away meanwhile."""
    may_answer = asyncio.Event()

    async def late(**what):
        await may_answer.wait()
        return await MemoryLedger.commit(world.ledger, **what)

    world.may_look.clear()
    world.ledger.commit = late
    slow = asyncio.create_task(world.runs("c1", wait_s=60))
    await settle()
    world.ledger.lose()
    world.doors.local.lost(LedgerUnavailable("gone"))
    assert [await world.runs(id) for id in ("c2", "c3")] == ["local-c2", "local-c3"]

    may_answer.set()
    await settle()
    assert (slow.done(), set(world.ledger.replica.tickets)) == (False, {"t-c1"})
    await world.ends("local-c2")
    assert await slow == "local-c1"

    world.may_look.set()
    await world.is_back()
    assert world.ledger.replica.tickets == {}


@pytest.mark.parametrize(
    ("fail_mode", "lapses"), [(FailMode.LOCAL, False), (FailMode.CLOSED, True)], ids=["goes on", "is told"]
)
async def test_a_call_whose_ticket_was_lost_with_the_ledger(fail_mode, lapses):
    """Redis came back empty: streams under way were cut off, although their server goes on without it."""
    world = await lost_world(fail_mode=fail_mode)
    held = world.doors.held
    lapsed = asyncio.Event()
    ticket = world.hold(await world.asks("c1"), on_lapse=lapsed.set)
    world.ledger.lose()
    await settle()
    world.ledger.come_back()
    await world.ledger.release(ticket=ticket, outcome=WELL, now=world.clock())

    await held._renew(ticket)
    await held._renew(ticket)

    assert lapsed.is_set() is lapses
    assert [each.id for each in held.tickets()] == ([] if lapses else [ticket])
    await world.doors.local.close()
    await held.close()


async def test_a_ticket_that_was_taken_back_while_the_ledger_was_there_is_told_whatever_the_server_says(world):
    """A server that was taken out of the configuration runs nothing more."""
    lapsed = asyncio.Event()
    world.ledger.lose()
    world.ledger.come_back()
    ticket = world.hold(await world.asks("c1"), on_lapse=lapsed.set)
    await world.doors.held._renew(ticket)
    await world.ledger.release(ticket=ticket, outcome=WELL, now=world.clock())

    await world.doors.held._renew(ticket)

    assert lapsed.is_set()


@pytest.mark.parametrize("says", ["renew", "release"])
async def test_whoever_finds_first_that_the_ledger_is_lost_says_so_to_all(world, says):
    ticket = await world.runs("c1")
    world.may_look.clear()
    world.ledger.lose()

    if says == "renew":
        await world.doors.held._renew(ticket)
    else:
        await world.ends(ticket)

    assert world.doors.local.is_on


async def test_a_ledger_that_comes_and_goes_counts_what_still_runs_from_before(world):
    world.ledger.lose()
    first = await world.runs("c1")
    await world.is_back()
    world.ledger.lose()
    second = await world.runs("c2")
    third = world.asks("c3")
    await settle()

    assert (first, second, third.done()) == ("local-c1", "local-c2", False)
    third.cancel()


async def test_a_return_that_goes_wrong_leaves_the_placing_to_the_ledger_all_the_same(world, caplog):
    async def broken():
        raise ValueError("the database is away")

    world.doors.local._returning._on_back = broken
    world.ledger.lose()
    await world.runs("c1")

    await world.is_back()

    assert "ledger_back_untidy" in caplog.text
    assert await world.runs("c2") == "t-c2"


async def test_a_ledger_that_begins_anew_is_given_time_to_see_what_is_in_memory(world):
    """It would send calls away for a model that no server is known to have."""
    record = world.ledger.replica.servers["gpu-1"]
    world.may_look.clear()
    world.ledger.lose()
    await world.runs("c1")
    await world.runs("c2")
    waits = world.asks("c3")
    await settle()
    world.ledger.come_back()
    await world.ledger.configure(servers=[], footprints={}, weights={})
    await world.ledger.configure(servers=[record.config], footprints={}, weights={})
    assert world.ledger.replica.servers["gpu-1"].seen.probed_at is None

    world.may_look.set()
    await settle()
    await world.ends("local-c1")
    assert (await waits).ticket.id == "local-c3", "it goes on by what was there"

    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=10)
    await world.ledger.probe_end(server="gpu-1", probe=probe, seen=record.seen)
    await world.is_back()
    assert await world.runs("c4") == "t-c4"


async def test_the_time_to_see_ends(world, monkeypatch):
    monkeypatch.setattr(returning, "MOST_BLIND_LOOKS", 3)
    record = world.ledger.replica.servers["gpu-1"]
    world.ledger.lose()
    await world.runs("c1")
    world.ledger.come_back()
    await world.ledger.configure(servers=[], footprints={}, weights={})
    await world.ledger.configure(servers=[record.config], footprints={}, weights={})

    await world.is_back()

    assert world.backs == 4


async def test_a_place_that_could_not_be_given_back_is_given_back_with_how_its_call_ended(world):
    """It stayed taken until its lease ended, and history said that the call was lost."""
    ticket = await world.runs("c1")
    world.may_look.clear()
    world.ledger.lose()
    await world.ends(ticket)
    assert set(world.ledger.replica.tickets) == {ticket}

    world.may_look.set()
    await world.is_back()

    assert world.ledger.replica.tickets == {}
    assert (await outcomes(world))["c1"] is AttemptOutcome.OK
