"""What the benches on the real ledger measure is really done; how fast it was is nobody's business here."""

import asyncio

from kubemoot_web.management.benches.claims import CROWDED_SLOTS, counted
from kubemoot_web.management.benches.own_valkey import MODEL, SERVER, ledger_on, own_valkey, register
from kubemoot_web.management.benches.slot_referee import SlotReferee
from kubemoot_web.management.benches.wake import WakeBench
from scheduler.core.ledger import GrantChange, Outcome
from scheduler.core.types import Ticket, TicketState


def test_four_processes_that_claim_blindly_get_no_more_places_than_there_are():
    values = {figure.measure: figure.value for figure in counted(attempts=2000)}

    assert values == {"grants missed by the count": 0, "most at once": CROWDED_SLOTS, "over-commits": 0}


def test_the_referee_sees_a_slot_that_was_given_twice():
    """A limit that an operator lowered under running calls looks to it just like a ledger that gave too much."""
    with own_valkey() as path:
        referee = SlotReferee(path=path, slots=1)
        asyncio.run(_give_two(path))
        asyncio.run(referee.watch(until=lambda: True))

    assert (referee.granted, referee.most, referee.over_commits) == (2, 2, 1)


def test_a_freed_slot_wakes_one_caller_in_the_other_process():
    figures = WakeBench().run(options={"slots": 20, "waiters": 10}, progress=lambda _: None)

    values = {figure.measure: figure.value for figure in figures}
    assert set(values) == {"median", "p99", "wake-ups per slot"}
    assert 0.5 < values["wake-ups per slot"] <= 1.2
    assert all(value > 0 for value in values.values())


async def _give_two(path):
    ledger = ledger_on(path)
    await ledger.start()
    await register(ledger, slots=2)
    for name in ("t1", "t2"):
        ticket = Ticket(id=name, server=SERVER, agent="a", model=MODEL, state=TicketState.ACTIVE, started_at=1.0)
        await ledger.commit(changes=[GrantChange(ticket=ticket)], now=1.0)
    for name in ("t1", "t2"):
        await ledger.release(ticket=name, outcome=Outcome(ok=True), now=2.0)
    await ledger.close()
