"""Where a call that an engine failed goes next, how long it may pause for that, and what its caller hears."""

from dataclasses import replace

import pytest

from scheduler.core.admission.retrying import Failure
from scheduler.core.ledger import CallEnd, Outcome
from scheduler.services.attempts import NoAnswer
from tests.fakes.scripted_relay import Answer
from tests.services.test_attempts import LARGE, SMALL, Calls, alone, both
from tests.services.world import World

BUSY = Answer(status=503, headers=(("retry-after", "4"),), pieces=(b'{"error": "server ', b'busy"}'))
GOOD = Outcome(ok=True, end=CallEnd.OK)


def busy() -> Answer:
    """Make an answer of an engine that is full."""
    return replace(BUSY)


async def test_a_server_that_could_never_hold_the_model_is_no_other_place():
    """The call was bound to it and heard that no server could hold its model, while the one that can was only full."""
    world = await World().holding(gpu_1=(LARGE,))
    small_gpu = [
        replace(record.config, total_mib=8192 if record.config.name == "gpu-2" else record.config.total_mib)
        for record in world.ledger.replica.servers.values()
    ]
    await world.ledger.configure(servers=small_gpu, footprints={}, weights={})
    calls = Calls(world, busy(), Answer())

    running = await calls.open(LARGE, wait_s=60)

    assert calls.pauses == [(4.0, 0)]
    assert running.placed.ticket.server == "gpu-1"
    await running.end(outcome=GOOD)


async def test_a_model_that_the_call_does_not_accept_is_no_reason_to_go_elsewhere():
    world = await World().holding(gpu_1=(LARGE,), gpu_2=(SMALL,))
    only = [replace(record.config, can_load=False) for record in world.ledger.replica.servers.values()]
    await world.ledger.configure(servers=only, footprints={}, weights={})
    calls = Calls(world, busy(), Answer())

    running = await calls.open((LARGE, 90), (SMALL, 20), wait_s=60)

    assert [placed.ticket.server for placed in calls.places if placed is not None] == ["gpu-1", "gpu-1"]
    await running.end(outcome=GOOD)


async def test_nobody_pauses_longer_than_the_call_would_wait():
    calls = Calls(await alone(), busy())

    with pytest.raises(NoAnswer) as caught:
        await calls.open(SMALL, wait_s=3)

    assert (caught.value.failure, caught.value.retry_after_s) == (Failure.BUSY, 4.0)
    assert calls.pauses == []


async def test_the_caller_hears_what_the_engine_said_of_its_failure():
    """A call that failed everywhere said only that it had: the engine's reason was thrown away."""
    calls = Calls(
        await both(), Answer(status=500, pieces=(b"a",)), Answer(status=500, pieces=(b'{"error": "no memory"}',))
    )

    with pytest.raises(NoAnswer) as caught:
        await calls.open(SMALL)

    assert caught.value.said == b'{"error": "no memory"}'
