"""A-33 for clients: what they get while the ledger cannot be reached."""

import asyncio
import json
from dataclasses import replace

import pytest

from providers.core.engines.base import Trouble
from scheduler.core.attempt_history import AttemptOutcome
from scheduler.core.gate import AdmissionState, FailMode
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import ANTHROPIC, EVENT, WAY_NAMES, WAYS, Client, Gate, answer_of, until
from tests.services.lost import WELL, lost_world

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)
CANCELLED = ("gpu-1", AttemptOutcome.CANCELLED_RUNNING)


@pytest.fixture
async def gates():
    """Make gates in front of worlds whose ledger can be lost, and close them."""
    made = []

    async def make(*script, **config):
        gate = Gate(await lost_world(**config), *script)
        gate.world.doors = gate.doors
        made.append(gate)
        return gate

    yield make
    for gate in made:
        await gate.doors.local.close()
        await gate.held.close()


@ways
async def test_a_call_is_answered_and_its_head_says_that_the_place_was_given_here(gates, path, stream):
    client = Client(path, stream=stream)
    gate = await gates(answer_of(client))
    gate.world.ledger.lose()

    await gate.serve(client)

    told = dict(client.headers)
    assert (client.status, client.is_whole) == (200, True)
    assert (told["x-kubemoot-action"], told["x-kubemoot-server"], told["x-kubemoot-model"]) == (
        "local",
        "gpu-1",
        "qwen3:14b",
    )
    assert gate.doors.local.ended == {("gpu-1", AttemptOutcome.OK): 1}
    assert gate.doors.local.state().running == {}


@ways
async def test_where_the_server_stays_closed_the_client_is_told_why(gates, path, stream):
    client = Client(path, stream=stream)
    gate = await gates(answer_of(client), fail_mode=FailMode.CLOSED)
    gate.world.ledger.lose()

    await gate.serve(client)

    assert client.status == (529 if path == ANTHROPIC else 503)
    assert "The ledger does not answer: Connection refused" in client.body.decode()
    assert dict(client.headers)["retry-after"] == "5"
    assert gate.relay.asked == []


@ways
async def test_a_client_that_leaves_frees_its_place_once_the_connection_is_closed(gates, path, stream):
    """A-22, without the ledger."""
    client, never = Client(path, stream=stream), asyncio.Event()
    answer = Answer(pieces=(EVENT, never))
    gate = await gates(answer)
    gate.world.ledger.lose()
    running = gate.start(client)
    await until(lambda: bool(gate.relay.asked))
    assert gate.doors.local.state().running == {"gpu-1": 1}

    client.leave()
    await running

    assert answer.is_closed
    assert gate.doors.local.state().running == {}
    assert gate.doors.local.ended == {CANCELLED: 1}


async def test_a_client_that_leaves_the_line_contacts_nobody(gates):
    """A-20, without the ledger."""
    first, second, third, never = Client(), Client(), Client(), asyncio.Event()
    gate = await gates(Answer(pieces=(EVENT, never)), Answer(pieces=(EVENT, never)))
    gate.world.ledger.lose()
    running = [gate.start(client) for client in (first, second, third)]
    await until(lambda: gate.doors.local.state().waiting == 1)

    third.leave()
    await running[2]

    assert (len(gate.relay.asked), gate.doors.local.state().waiting) == (2, 0)
    for client in (first, second):
        client.leave()
    await asyncio.gather(*running)


async def test_a_place_is_given_back_before_the_pause_and_before_another_server_is_asked(gates):
    """A-11, A-12, without the ledger."""
    client = Client(stream=False)
    gate = await gates(Answer(status=503, headers=(("retry-after", "2"),)), answer_of(client))
    held = []
    pause = gate._pause

    async def paused(seconds: float) -> None:
        held.append(gate.doors.local.state().running)
        await pause(seconds)

    gate.doors = replace(gate.doors, pause=paused)
    gate.world.ledger.lose()

    await gate.serve(client)

    assert (client.status, held, gate.pauses) == (200, [{}], [2.0])
    assert gate.doors.local.ended == {("gpu-1", AttemptOutcome.ERROR): 1, ("gpu-1", AttemptOutcome.OK): 1}


async def test_an_engine_that_is_gone_is_told_of_and_holds_no_place(gates):
    client = Client(stream=False)
    gate = await gates(Trouble.REFUSED, Trouble.REFUSED, Trouble.REFUSED, Trouble.REFUSED)
    gate.world.ledger.lose()

    await gate.serve(client)

    assert json.loads(client.body)["error"]["code"] == "engine-unreachable"
    assert gate.doors.local.state().running == {}


@ways
async def test_a_stream_goes_on_when_its_ticket_is_lost_together_with_the_ledger(gates, path, stream):
    """Redis came back empty, and cut off what ran although its server goes on without it."""
    client, finish = Client(path, stream=stream), asyncio.Event()
    gate = await gates(answer_of(client, finish))
    running = gate.start(client)
    await until(lambda: bool(gate.relay.asked))
    (ticket,) = gate.held.tickets()
    gate.world.ledger.lose()
    gate.world.ledger.come_back()
    await gate.world.ledger.release(ticket=ticket.id, outcome=WELL, now=gate.world.clock())

    await gate.held._renew(ticket.id)
    finish.set()
    await running

    assert (client.status, client.is_whole, gate.held.tickets()) == (200, True, ())


@ways
async def test_a_call_that_waits_through_all_of_it_is_answered_in_the_end(gates, path, stream):
    client, finish = Client(path, stream=stream), asyncio.Event()
    others = [Client(), Client()]
    gate = await gates(*(Answer(pieces=(EVENT, finish, b"data: [DONE]\n\n")) for _ in others), answer_of(client))
    busy = [gate.start(other) for other in others]
    await until(lambda: len(gate.relay.asked) == 2)
    waits = gate.start(client)
    await until(lambda: gate.waiters == 1)
    gate.world.may_look.clear()
    gate.world.ledger.lose()
    late = Client()
    gate.start(late)
    await until(lambda: gate.doors.local.state().waiting == 2)
    gate.world.may_look.set()
    await gate.world.is_back()
    await until(lambda: gate.waiters == 2)

    finish.set()
    await asyncio.gather(*busy)
    await waits

    assert (client.status, client.is_whole) == (200, True)
    assert dict(client.headers)["x-kubemoot-action"] == "use"
    late.leave()


@ways
async def test_an_engine_that_works_on_for_a_client_that_left_keeps_its_place_until_it_ends(gates, path, stream):
    """A-23, without the ledger."""
    client, finish = Client(path, stream=stream), asyncio.Event()
    answer = Answer(pieces=(EVENT[:9], finish))
    gate = await gates(answer, aborts_on_disconnect=False)
    gate.world.ledger.lose()
    running = gate.start(client)
    await until(lambda: bool(gate.relay.asked))

    client.leave()
    await running

    assert (answer.is_closed, gate.doors.local.state().running) == (False, {"gpu-1": 1})
    finish.set()
    await until(lambda: gate.doors.local.state().running == {})
    assert (answer.is_closed, gate.doors.local.ended) == (True, {CANCELLED: 1})


@ways
async def test_a_server_in_doubt_gets_no_other_call_and_is_taken_out_once_the_ledger_is_back(gates, path, stream):
    """A-28, without the ledger."""
    first, second = Client(path, stream=stream), Client(path, stream=stream)
    gate = await gates(Answer(pieces=(EVENT[:9], Trouble.BROKEN)), quarantine_on_ambiguous=True)
    gate.world.may_look.clear()
    gate.world.ledger.lose()

    await gate.serve(first)
    await gate.serve(second)
    gate.world.may_look.set()
    await gate.world.is_back()

    assert (second.status in (503, 529), len(gate.relay.asked)) == (True, 1)
    admission = gate.world.ledger.replica.servers["gpu-1"].admission
    assert (admission.state, admission.cause) == (AdmissionState.QUARANTINED, "ambiguous_transport")


async def test_a_server_that_comes_into_doubt_when_the_ledger_is_back_already_is_taken_out_then(gates):
    client, finish = Client(), asyncio.Event()
    gate = await gates(Answer(pieces=(EVENT, finish, Trouble.BROKEN)), quarantine_on_ambiguous=True)
    gate.world.ledger.lose()
    running = gate.start(client)
    await until(lambda: bool(gate.relay.asked))
    await gate.world.is_back()

    finish.set()
    await running

    assert gate.world.ledger.replica.servers["gpu-1"].admission.cause == "ambiguous_transport"
