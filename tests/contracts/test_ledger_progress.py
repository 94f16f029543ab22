"""When the engine of a call sent a byte last, as its caller tells: kept beside the documents, gone with the ticket."""

import pytest

from scheduler.core.ledger import CallEnd, Outcome
from tests.contracts.builders import World


async def test_the_last_byte_that_was_told_is_known_and_moves_no_version(world: World) -> None:
    await world.gpu("14b", slots=3)
    for id in ("t1", "t2", "t3"):
        await world.grant(id)
    version = world.ledger.replica.version

    await world.ledger.renew(ticket="t1", progress_at=1001.25)
    await world.ledger.renew(ticket="t2", progress_at=1700000000.123456)
    await world.ledger.renew(ticket="t1", progress_at=1000.0)
    await world.ledger.renew(ticket="t3")

    assert await world.ledger.progress() == {"t1": 1001.25, "t2": 1700000000.123456}
    assert world.ledger.replica.version == version


async def test_a_ticket_that_is_not_in_its_callers_hands_tells_nothing(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1")
    await world.ledger.renew(ticket="p-p1", progress_at=1001.0)

    assert await world.ledger.progress() == {}


@pytest.mark.parametrize("end", ["released", "lapsed"])
async def test_it_goes_with_its_ticket(world: World, end: str) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    await world.ledger.renew(ticket="t1", progress_at=1001.0)
    if end == "released":
        await world.releases("t1")
    else:
        world.clock.advance(15)
        await world.ledger.reap(now=world.clock())

    assert await world.ledger.progress() == {}


async def test_a_call_that_ends_well_is_a_sign_of_life_and_no_other(world: World) -> None:
    await world.gpu("14b")
    for number, end in enumerate((CallEnd.OK, CallEnd.ERROR, CallEnd.REFUSED, CallEnd.CANCELLED)):
        world.clock.advance(1)
        await world.grant(f"t{number}")
        await world.releases(f"t{number}", Outcome(ok=end is CallEnd.OK, end=end))

    assert world.record().learned.answered_at == 1001.0
