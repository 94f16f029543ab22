"""Servers that take no calls because somebody said so: the claim checks it, what runs goes on."""

import pytest

from scheduler.core.gate import Admission, AdmissionBy, AdmissionState
from scheduler.core.ledger import Refusal
from scheduler.ports import UnknownServer
from tests.contracts.builders import World, server

OPEN, PAUSED = AdmissionState.OPEN, AdmissionState.PAUSED
DRAINING, QUARANTINED = AdmissionState.DRAINING, AdmissionState.QUARANTINED
OPERATOR, SYSTEM = AdmissionBy.OPERATOR, AdmissionBy.SYSTEM


async def say(world: World, state: AdmissionState, reason: str = "", **more: object) -> bool:
    """Say how a server stands from now on."""
    said = Admission(state=state, reason=reason, since=world.clock(), by=AdmissionBy(more.pop("by", OPERATOR)))
    return await world.ledger.admission_set(server="gpu-1", admission=said, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [PAUSED, DRAINING, QUARANTINED])
async def test_nothing_new_is_placed_or_loaded_there_and_what_runs_goes_on(world: World, state: AdmissionState) -> None:
    await world.gpu("14b", slots=2)
    await world.grant("t1")
    await world.grant_load("t2", "8b", agent="b")

    assert await say(world, state, "new fans") is True

    assert await world.grant("t3") is Refusal.SERVER_CLOSED
    assert await world.grant("t4", "8b") is Refusal.SERVER_CLOSED
    await world.releases("t2")
    await world.loaded("8b")
    assert await world.grant_load("t5", "32b", evicts=("8b",)) is Refusal.SERVER_CLOSED
    assert await world.ledger.renew(ticket="t1") == 15.0
    assert world.record().admission == Admission(state=state, reason="new fans", since=1000.0)
    assert world.ledger.replica.snapshot(now=1000.0).servers["gpu-1"].is_open is False
    assert [event["reason"] for event in await world.events("admission")] == ["new fans"]


async def test_resumed_it_takes_calls_again(world: World) -> None:
    await world.gpu("14b")
    await say(world, PAUSED)
    world.clock.advance(5)

    assert await say(world, OPEN, when=(PAUSED, DRAINING)) is True

    assert await world.grant("t1") is None
    assert world.record().admission == Admission(since=1005.0)


async def test_saying_the_same_again_is_no_news(world: World) -> None:
    await world.gpu("14b")
    assert await say(world, OPEN) is False
    await say(world, PAUSED, "fans")
    version = world.ledger.replica.version
    world.clock.advance(5)

    assert await say(world, PAUSED, "fans") is False
    assert world.ledger.replica.version == version
    assert await say(world, PAUSED, "power") is True


async def test_only_what_is_in_one_of_the_named_states_changes(world: World) -> None:
    await world.gpu("14b")
    await say(world, QUARANTINED)

    assert await say(world, OPEN, when=(PAUSED, DRAINING)) is False
    assert await say(world, OPEN, when=(QUARANTINED,)) is True


@pytest.mark.parametrize(
    ("before", "by", "after", "changed"),
    [
        (OPEN, OPERATOR, QUARANTINED, True),
        (QUARANTINED, SYSTEM, OPEN, True),
        (PAUSED, OPERATOR, QUARANTINED, False),
        (QUARANTINED, OPERATOR, OPEN, False),
    ],
)
async def test_the_system_changes_only_what_is_open_or_its_own(
    world: World, before: AdmissionState, by: AdmissionBy, after: AdmissionState, changed: bool
) -> None:
    await world.gpu("14b")
    await say(world, before, by=by)

    assert await say(world, after, by=SYSTEM) is changed
    assert world.record().admission.state is (after if changed else before)


async def test_opened_for_a_trial_a_single_call_goes_first(world: World) -> None:
    await world.gpu("14b", slots=2)
    await say(world, QUARANTINED, by=SYSTEM)

    await say(world, OPEN, by=SYSTEM, trial=True)

    assert await world.grant("t1") is None
    assert await world.grant("t2") is Refusal.SERVER_CLOSED
    await world.releases("t1")
    assert await world.grant("t2") is None


async def test_what_an_operator_said_outlives_another_endpoint_and_a_quarantine_does_not(world: World) -> None:
    await world.gpu("14b")
    await say(world, PAUSED, "move")
    await world.servers(server(endpoint="http://elsewhere", slots=2))
    assert world.record().admission.state is PAUSED

    await say(world, QUARANTINED)
    await world.servers(server(endpoint="http://elsewhere", slots=3))
    assert world.record().admission.state is QUARANTINED
    await world.servers(server(endpoint="http://third"))
    assert world.record().admission.state is OPEN


async def test_a_server_that_is_gone_takes_it_with_it(world: World) -> None:
    await world.gpu("14b")
    await say(world, PAUSED)
    await world.servers()
    with pytest.raises(UnknownServer, match="There is no server gpu-1"):
        await say(world, PAUSED)

    await world.servers(server())
    assert world.record().admission == Admission()
