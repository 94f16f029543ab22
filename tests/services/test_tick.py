"""What every second brings."""

from tests.services.world import World, call, waiter_of


async def test_history_is_asked_for_only_where_something_happened():
    """A message, a task and a look into the database every second kept an idle installation busy."""
    world = await World().holding()
    await world.tick()
    await world.project()
    for _ in range(3):
        await world.tick()
    assert world.effects.projections == 1

    waiter_of(await world.submit(call("default/a", "qwen3:14b")))
    await world.tick()
    await world.project()
    for _ in range(3):
        await world.tick()
    assert world.effects.projections == 2


async def test_history_is_asked_for_until_it_is_written():
    """The message may get lost and the database be locked: on a calm cluster nothing else would ask again."""
    world = await World().holding()

    for _ in range(3):
        await world.tick()

    assert world.effects.projections == 3


async def test_every_version_is_written_once():
    world = await World().holding()
    await world.project()
    await world.submit(call("default/a", "qwen3:14b"))

    await world.project()

    assert [entry.version for entry in world.history.entries] == list(range(1, world.ledger.replica.version + 1))
    assert await world.project() == 0
