"""What operators do to one endpoint, and what those who wait for it hear of it."""

import pytest

from scheduler.core.calls import Call
from scheduler.core.gate import AdmissionState
from scheduler.core.operator_steps import Step
from scheduler.core.types import Candidate
from scheduler.ports import UnknownServer
from scheduler.services.endpoint_steps import Stepped, endpoint_step
from tests.services.world import World, call, profile, ticket_of, waiter_of

M = "qwen3:14b"


@pytest.fixture
async def world() -> World:
    """Give both GPUs, gpu-1 with the model."""
    return await World().holding(gpu_1=(M,))


async def do(world: World, step: Step, *, server: str = "gpu-1", reason: str = "") -> Stepped:
    """Do something to an endpoint."""
    return await endpoint_step(**world.parts, server=server, step=step, reason=reason, now=world.clock())


def only_on(server: str, agent: str, model: str = M) -> Call:
    """Make a call whose Model objects allow one server."""
    return Call(agent=agent, candidates=(Candidate(model=model, score=60, servers=frozenset({server})),))


async def aside(world: World, waiter: str) -> str | None:
    """Ask how a wait ended; None where it goes on."""
    answer = await world.look(waiter)
    return getattr(answer, "reason", None)


async def test_a_paused_endpoint_keeps_its_line_which_moves_again_when_it_is_resumed(world: World) -> None:
    assert await do(world, Step.PAUSE, reason="new fans") == Stepped(is_news=True)
    waiter = waiter_of(await world.submit(only_on("gpu-1", "a")))
    assert world.ledger.replica.waiters[waiter].action == "wait"
    assert await aside(world, waiter) is None

    assert await do(world, Step.RESUME) == Stepped(is_news=True)

    assert ticket_of(await world.look(waiter)).server == "gpu-1"


async def test_who_queued_there_hears_at_once_that_it_is_no_queue_any_more(world: World) -> None:
    await world.submit(call("a", M))
    waiter = waiter_of(await world.submit(only_on("gpu-1", "b")))
    assert world.ledger.replica.waiters[waiter].server == "gpu-1"

    await do(world, Step.PAUSE)

    told = world.ledger.replica.waiters[waiter]
    assert (told.action, told.server) == ("wait", None)


async def test_calls_and_loads_go_to_the_other_endpoint_meanwhile(world: World) -> None:
    await do(world, Step.DRAIN, reason="new disk")

    waiter_of(await world.submit(call("a", M)))

    assert [load.server for load in world.effects.loads] == ["gpu-2"]


async def test_a_place_held_for_a_selected_agent_is_no_good_there_and_its_call_goes_elsewhere(world: World) -> None:
    (planned,) = await world.select(profile("a", (M, 60)))
    assert planned.ticket is not None
    await do(world, Step.PAUSE)

    await world.submit(call("a", M, thread="th"))

    assert [load.server for load in world.effects.loads] == ["gpu-2"]
    assert world.ledger.replica.plans == {}


@pytest.mark.parametrize("step", [Step.PAUSE, Step.DRAIN, Step.QUARANTINE])
async def test_each_way_back_undoes_its_own_way(world: World, step: Step) -> None:
    await do(world, step, reason="why")
    back, other = Step.RESUME, Step.CLEAR_QUARANTINE
    if step is Step.QUARANTINE:
        back, other = other, back

    assert await do(world, step, reason="why") == Stepped(is_news=False)
    assert await do(world, other) == Stepped(is_news=False)
    assert await do(world, back) == Stepped(is_news=True)
    assert world.ledger.replica.servers["gpu-1"].admission.state is AdmissionState.OPEN


async def test_clearing_sends_away_who_queues_there_or_has_no_other_place_and_nobody_else(world: World) -> None:
    running = ticket_of(await world.submit(call("runs", M)))
    queues = waiter_of(await world.submit(only_on("gpu-1", "queues")))
    await do(world, Step.PAUSE)
    alone = waiter_of(await world.submit(only_on("gpu-1", "alone")))
    await do(world, Step.PAUSE, server="gpu-2")
    either = waiter_of(await world.submit(call("either", M)))
    other = waiter_of(await world.submit(only_on("gpu-2", "other")))

    assert await do(world, Step.CLEAR_QUEUE) == Stepped(is_news=True, sent_away=2)

    assert [await aside(world, waiter) for waiter in (queues, alone)] == ["queue-cleared"] * 2
    assert [await aside(world, waiter) for waiter in (either, other)] == [None, None]
    assert running.id in world.ledger.replica.tickets
    assert await do(world, Step.CLEAR_QUEUE) == Stepped(is_news=False)


async def test_a_call_whose_model_still_loads_on_a_server_that_is_taken_out_goes_elsewhere_at_once(
    world: World,
) -> None:
    """A-28: it would have been handed a place there when the load was done, and sent to an engine nobody trusts."""
    waiter = waiter_of(await world.submit(call("a", "qwen3:8b")))
    (load,) = world.effects.loads

    await do(world, Step.QUARANTINE, server=load.server)

    assert [each.server for each in world.effects.loads] == [
        load.server,
        "gpu-2" if load.server == "gpu-1" else "gpu-1",
    ]
    assert await aside(world, waiter) is None


async def test_a_call_granted_there_whose_model_still_loads_is_not_sent_away(world: World) -> None:
    await world.submit(only_on("gpu-2", "a"))

    assert await do(world, Step.CLEAR_QUEUE, server="gpu-2") == Stepped(is_news=False)
    assert len(world.ledger.replica.tickets) == 1


@pytest.mark.parametrize("step", Step)
async def test_an_unknown_endpoint_is_said_to_be_unknown(world: World, step: Step) -> None:
    with pytest.raises(UnknownServer):
        await do(world, step, server="gpu-9")
