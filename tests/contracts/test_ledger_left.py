"""Calls whose callers have left while their engines work on: their places stay taken, and everybody can see why."""

from scheduler.core.ledger import CallEnd, LeftChange, Outcome, Refusal
from tests.contracts.builders import World

CANCELLED = Outcome(ok=False, end=CallEnd.CANCELLED)


async def test_a_place_whose_caller_left_stays_taken_until_it_is_given_back(world: World) -> None:
    """A-23."""
    await world.gpu("14b")
    await world.grant("t1")
    world.clock.advance(5)

    assert await world.commit(LeftChange(ticket="t1")) is None

    assert world.tickets["t1"].left_at == 1005.0
    assert await world.grant("t2") is Refusal.NO_SLOT
    assert await world.ledger.renew(ticket="t1", progress_at=1005.0) == 15.0
    assert await world.releases("t1", CANCELLED) is True
    assert await world.grant("t2") is None


async def test_the_journal_tells_when_it_was_and_of_which_call(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1", call="c1", agent="ada", crew="lab")

    await world.commit(LeftChange(ticket="t1"))

    (event,) = await world.events("left")
    told = {name: event[name] for name in ("call", "ticket", "agent", "crew", "server", "model")}
    assert told == {"call": "c1", "ticket": "t1", "agent": "ada", "crew": "lab", "server": "gpu-1", "model": "14b"}


async def test_a_caller_leaves_once(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    await world.commit(LeftChange(ticket="t1"))
    version = world.ledger.replica.version
    world.clock.advance(5)

    assert await world.commit(LeftChange(ticket="t1")) is None

    assert (world.tickets["t1"].left_at, world.ledger.replica.version) == (1000.0, version)


async def test_nobody_leaves_a_place_that_is_gone(world: World) -> None:
    await world.gpu("14b")

    assert await world.commit(LeftChange(ticket="t1")) is Refusal.TICKET_GONE
    assert await world.events("left") == []


async def test_it_lapses_like_any_other_when_nobody_renews_it(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    await world.commit(LeftChange(ticket="t1"))
    world.clock.advance(15)

    assert (await world.ledger.reap(now=world.clock())).tickets == 1
    assert world.tickets == {}
