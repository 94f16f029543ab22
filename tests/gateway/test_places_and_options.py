"""What the gateway keeps to while it places calls: caps that change, storms of agents, contexts and keep-alives."""

import asyncio
from dataclasses import replace

import pytest

from scheduler.core.types import Priority
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import LAST_LINE, MODEL, OLLAMA, OPENAI, Client, Gate, answer_of, until, world_of
from tests.services.world import World, call


async def set_cap(world: World, cap: int) -> None:
    """Let an operator change a server's cap."""
    records = world.ledger.replica.servers.values()
    await world.ledger.configure(
        servers=[replace(record.config, max_concurrent=cap) for record in records], footprints={}, weights={}
    )
    await world.tick()


async def test_a_cap_that_is_changed_holds_at_once_and_ends_nobody():
    """C39: the change had no effect before a restart, or forgot the calls that ran."""
    world = await world_of(slots=2, max_concurrent=2)
    ends = {name: asyncio.Event() for name in "abcd"}
    gate = Gate(world, *(Answer(pieces=(ends[name], LAST_LINE)) for name in "abcd"))
    a, b, c, d = (Client(OLLAMA) for _ in "abcd")

    running = [gate.start(a), gate.start(b)]
    await until(lambda: len(gate.asked) == 2)
    await set_cap(world, 1)
    running.append(gate.start(c))
    await until(lambda: gate.waiters == 1)
    assert len(gate.tickets) == 2

    ends["a"].set()
    await running[0]
    assert (len(gate.tickets), gate.waiters) == (1, 1)
    ends["b"].set()
    await running[1]
    await until(lambda: len(gate.asked) == 3)
    assert (len(gate.tickets), gate.waiters) == (1, 0)

    running.append(gate.start(d))
    await until(lambda: gate.waiters == 1)
    await set_cap(world, 2)
    await until(lambda: len(gate.asked) == 4)

    for end in ends.values():
        end.set()
    await asyncio.gather(*running)
    assert [client.status for client in (a, b, c, d)] == [200] * 4
    assert gate.tickets == []


async def test_a_persons_call_does_not_stand_behind_fifteen_agents_that_woke_at_once():
    """C56: after an outage every timer fired in the same second, and a question stood behind them all."""
    agents = 15
    ends = [asyncio.Event() for _ in range(agents + 1)]
    gate = Gate(await world_of(slots=2, max_concurrent=2), *(Answer(pieces=(end, LAST_LINE)) for end in ends))
    storm = [gate.start(Client(OLLAMA), call(f"agent-{n}", MODEL, priority=Priority.BACKGROUND)) for n in range(agents)]
    await until(lambda: len(gate.asked) == 2 and gate.waiters == agents - 2)
    person = gate.start(Client(OLLAMA, think=True), call("person", MODEL))
    await until(lambda: gate.waiters == agents - 1)

    ends[0].set()
    await until(lambda: len(gate.asked) == 3)

    assert gate.bodies()[2].get("think") is True
    most = 0
    for end in ends:
        end.set()
        await asyncio.sleep(0)
        most = max(most, len(gate.tickets))
    await asyncio.gather(*storm, person)
    assert (most <= 2, len(gate.asked), gate.tickets) == (True, agents + 1, [])


@pytest.mark.parametrize(
    "options",
    [None, {}, {"num_ctx": 2000}, {"num_ctx": 30000}, {"num_ctx": 0}, {"num_ctx": 131072}, {"num_batch": 64}],
    ids=str,
)
async def test_the_context_that_is_allocated_is_what_is_sent(options):
    """C10: any other context, also none, loads the model again."""
    gate = Gate(await world_of(context=32768), Answer(pieces=(LAST_LINE,)))

    await gate.serve(Client(OLLAMA, **({} if options is None else {"options": options})))

    assert [body["options"] for body in gate.bodies()] == [{"num_ctx": 32768}]


@pytest.mark.parametrize("path", [OPENAI, OLLAMA])
@pytest.mark.parametrize(("characters", "status"), [(4096 * 4, 200), (4097 * 4, 422)])
async def test_a_prompt_is_never_cut_without_a_word(path, characters, status):
    """C13: the engine used a context of 4k where the gateway believed in one of 32k, and dropped the rest."""
    client = Client(path, stream=False, messages=[{"role": "user", "content": "x" * characters}])
    gate = Gate(await world_of(context=4096), answer_of(client))

    await gate.serve(client)

    assert (client.status, len(gate.asked), gate.tickets) == (status, 1 if status == 200 else 0, [])
    if status == 422:
        assert dict(client.headers)["x-kubemoot-reason"] == "prompt-too-large"
        assert await gate.ends() == {"c1": "refused"}


@pytest.mark.parametrize("keep_alive", [-1, "-1", "-1m", 0, "0", "5m", 300, "300", "", None], ids=repr)
async def test_a_clients_keep_alive_neither_undoes_a_plan_nor_is_refused(keep_alive):
    """C12: 0 means unload now, and the text "-1" is refused with a 400."""
    gate = Gate(await world_of(), Answer(pieces=(LAST_LINE,)))

    await gate.serve(Client(OLLAMA, keep_alive=keep_alive))

    assert [body["keep_alive"] for body in gate.bodies()] == [-1]
