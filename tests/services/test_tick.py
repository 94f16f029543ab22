"""What every second brings."""

from tests.services.world import World, call, waiter_of


async def test_history_is_asked_for_only_where_something_happened():
    """A message, a task and a look into the database every second kept an idle installation busy."""
    world = await World().holding()

    for _ in range(3):
        await world.tick()
    assert world.effects.projections == 1

    waiter_of(await world.submit(call("default/a", "qwen3:14b")))
    for _ in range(3):
        await world.tick()
    assert world.effects.projections == 2
