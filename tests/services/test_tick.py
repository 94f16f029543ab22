"""What every second and every minute bring."""

from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import AdmissionState
from scheduler.services.project import BATCH, history_forget
from tests.fakes.listed_history import ListedHistory
from tests.services.world import World, call, ticket_of, waiter_of


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


async def test_what_is_too_old_is_forgotten_in_small_steps_until_nothing_of_it_is_left():
    history = ListedHistory()
    history.old = 2 * BATCH + 1

    assert (
        await history_forget(history=history, config=SchedulerConfig(keep_history_s=60.0), now=1000.0) == 2 * BATCH + 1
    )

    assert history.old == 0
    assert history.asked == [(940.0, BATCH)] * 4


async def test_history_that_is_kept_for_ever_is_not_even_looked_at():
    history = ListedHistory()

    assert await history_forget(history=history, config=SchedulerConfig(keep_history_s=None), now=1000.0) == 0

    assert history.asked == []


async def test_a_silent_engine_is_taken_out_and_the_next_call_goes_elsewhere():
    world = await World().holding(gpu_1=("qwen3:14b",))
    ticket = ticket_of(await world.submit(call("a", "qwen3:14b")))
    for _ in range(31):
        await world.ledger.renew(ticket=ticket.id, progress_at=ticket.started_at)
        world.clock.advance(5)
        await world.tick()

    await world.submit(call("b", "qwen3:14b"))

    assert world.ledger.replica.servers["gpu-1"].admission.state is AdmissionState.QUARANTINED
    assert ticket.id in world.ledger.replica.tickets
    assert [load.server for load in world.effects.loads] == ["gpu-2"]
