"""Servers that are taken out because nobody knows what their engines still work on, as clients meet them."""

import asyncio

import pytest

from providers.core.engines.base import Trouble
from scheduler.core.gate import AdmissionState
from scheduler.core.operator_steps import Step
from scheduler.services.endpoint_steps import endpoint_step
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import EVENT, WAY_NAMES, WAYS, Client, Gate, answer_of, until, world_of

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)


def states(gate: Gate) -> list[str]:
    """Say how the servers stand."""
    records = gate.world.ledger.replica.servers
    return [records[name].admission.cause or records[name].admission.state.value for name in sorted(records)]


@ways
@pytest.mark.parametrize(
    ("pieces", "cause"),
    [
        ((EVENT[:9], Trouble.TIMED_OUT), "ambiguous_timeout"),
        ((EVENT[:9], Trouble.BROKEN), "ambiguous_transport"),
        ((EVENT[:9],), "incomplete_response"),
    ],
    ids=["silent", "broke", "no mark"],
)
async def test_a_server_that_left_a_call_in_doubt_gets_no_other_one(path, stream, pieces, cause):
    """A-28: the next call would have stood behind work that nobody waits for any more."""
    first, second = Client(path, stream=stream), Client(path, stream=stream)
    gate = Gate(await world_of(servers=2, quarantine_on_ambiguous=True), Answer(pieces=pieces), answer_of(second))

    await gate.serve(first)
    await gate.serve(second)

    assert (second.status, second.is_whole, len(set(gate.asked))) == (200, True, 2)
    assert sorted(states(gate)) == sorted([cause, "open"])
    assert await gate.ends() == {"c1": "truncated", "c2": "ok"}


@ways
async def test_whoever_has_no_other_place_waits_until_an_operator_takes_it_back(path, stream):
    first, second = Client(path, stream=stream), Client(path, stream=stream)
    world = await world_of(quarantine_on_ambiguous=True)
    gate = Gate(world, Trouble.TIMED_OUT, answer_of(second))
    await gate.serve(first)
    waiting = gate.start(second)
    await until(lambda: gate.waiters == 1)
    assert (states(gate), len(gate.asked)) == (["ambiguous_timeout"], 1)

    await endpoint_step(**world.parts, server="gpu-1", step=Step.CLEAR_QUARANTINE, reason="", now=world.clock())
    await waiting

    assert (second.status, second.is_whole, states(gate)) == (200, True, ["open"])


@ways
async def test_whose_patience_ends_first_is_told_that_no_server_takes_calls(path, stream):
    gate = Gate(await world_of(quarantine_on_ambiguous=True), Trouble.TIMED_OUT)
    await gate.serve(Client(path, stream=stream))

    client = await gate.serve(Client(path, stream=stream), wait_s=0)

    assert dict(client.headers)["x-kubemoot-reason"] == "gpu-busy"
    assert b"Their pages say why and since when." in client.body
    assert len(gate.asked) == 1


async def test_what_runs_there_goes_on_and_without_the_operators_wish_nothing_is_taken_out():

    for wish, state in ((True, "ambiguous_timeout"), (False, "open")):
        finish = asyncio.Event()
        runs = Client()
        gate = Gate(await world_of(slots=2, quarantine_on_ambiguous=wish), answer_of(runs, finish), Trouble.TIMED_OUT)
        running = gate.start(runs)
        await until(lambda gate=gate: len(gate.asked) == 1)

        await gate.serve(Client())
        assert states(gate) == [state]
        finish.set()
        await running

        assert (runs.status, runs.is_whole) == (200, True)


async def test_a_place_that_its_caller_has_not_come_for_is_none_once_its_server_is_taken_out():
    """It waits on, for whatever comes first, and is never sent to a server that nobody trusts."""
    client = Client()
    world = await world_of(slots=1)
    gate = Gate(world, answer_of(client))
    await endpoint_step(**world.parts, server="gpu-1", step=Step.QUARANTINE, reason="", now=world.clock())
    waiting = gate.start(client)
    await until(lambda: gate.waiters == 1)
    real = world.ledger.pick_up

    async def pick_up(**asked):
        """Take the server out between the grant and the moment in which its caller comes for it."""
        world.ledger.pick_up = real
        step = Step.QUARANTINE
        await endpoint_step(**world.parts, server="gpu-1", step=step, reason="again", now=world.clock())
        return await real(**asked)

    world.ledger.pick_up = pick_up
    await endpoint_step(**world.parts, server="gpu-1", step=Step.CLEAR_QUARANTINE, reason="", now=world.clock())
    await until(lambda: world.ledger.pick_up == real)
    await asyncio.sleep(0)

    assert (gate.waiters, gate.tickets, gate.asked) == (1, [], [])
    assert world.ledger.replica.servers["gpu-1"].admission.state is AdmissionState.QUARANTINED
    await endpoint_step(**world.parts, server="gpu-1", step=Step.CLEAR_QUARANTINE, reason="", now=world.clock())
    await waiting
    assert client.status == 200
