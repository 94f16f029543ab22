"""Loads: who drives them, how they end, what probes may say meanwhile."""

import pytest

from scheduler.core.ledger import Refusal, ServerLearned
from scheduler.core.types import TicketState
from tests.contracts.builders import World, load, seen, server, ticket


async def begins(world: World, runner: str = "r1", model: str = "14b") -> bool:
    """Try to drive a load."""
    return await world.ledger.load_begin(server="gpu-1", model=model, runner=runner) is not None


async def renews(world: World, runner: str = "r1") -> bool:
    """Keep driving a load."""
    return await world.ledger.load_renew(server="gpu-1", model="14b", runner=runner)


async def test_one_runner_drives_a_load(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")

    first = await world.ledger.load_begin(server="gpu-1", model="14b", runner="r1")

    assert first == load("14b")
    assert await begins(world, "r2") is False
    assert await begins(world, "r1") is True
    assert await renews(world, "r2") is False


async def test_a_dead_runners_load_is_taken_over(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")
    await begins(world, "r1")
    world.clock.advance(9.9)
    assert await begins(world, "r2") is False
    world.clock.advance(0.1)

    assert await begins(world, "r2") is True
    assert await renews(world, "r1") is False
    assert await renews(world, "r2") is True


async def test_a_living_runner_keeps_its_load(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")
    await begins(world, "r1")
    for _ in range(5):
        world.clock.advance(9)
        assert await renews(world, "r1") is True

    assert await begins(world, "r2") is False


async def test_there_is_nothing_to_drive_without_a_load(world: World) -> None:
    await world.gpu("14b")

    assert await begins(world) is False
    assert await renews(world) is False


async def test_a_finished_load_is_a_copy_and_its_calls_may_run(world: World) -> None:
    await world.gpu("8b", slots=3)
    await world.grant_load("t1", "14b", evicts=("8b",), evicted=("8b",))
    await world.grant("t2", "14b", agent="b")
    await world.plans("p1", "14b", agent="c")
    await world.ledger.victim_gone(server="gpu-1", model="14b", victim="8b")
    world.clock.advance(10)

    await world.loaded("14b", took_s=10.0)

    assert world.loads == []
    assert world.residents() == {"14b"}
    assert {t.id: (t.state, t.started_at) for t in world.tickets.values()} == {
        "t1": (TicketState.ACTIVE, 1010.0),
        "t2": (TicketState.ACTIVE, 1010.0),
        "p-p1": (TicketState.PLANNED, 1000.0),
    }
    assert world.record().learned == ServerLearned(load_mib_per_s=1024.0)


async def test_the_load_rate_is_learned_slowly(world: World) -> None:
    await world.gpu()
    for took_s in (10.0, 5.0):
        await world.grant_load("t1", "14b")
        await world.loaded("14b", took_s=took_s)
        await world.releases("t1")
        await world.sees("gpu-1")

    assert world.record().learned.load_mib_per_s == pytest.approx(1024 + 0.2 * 1024)


async def test_a_copy_that_was_found_loaded_teaches_no_rate(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")

    await world.loaded("14b", took_s=0.0)

    assert world.record().learned.load_mib_per_s is None


async def test_a_confirmed_unload_is_written_down_once(world: World) -> None:
    await world.gpu("14b", "8b")
    await world.grant_load("t1", "32b", evicts=("14b",))

    await world.ledger.victim_gone(server="gpu-1", model="32b", victim="14b")
    version = world.ledger.replica.version
    await world.ledger.victim_gone(server="gpu-1", model="32b", victim="14b")
    await world.ledger.victim_gone(server="gpu-1", model="32b", victim="8b")

    assert world.residents() == {"8b"}
    assert world.loads == [load("32b")]
    assert world.ledger.replica.version == version


async def test_a_ticket_that_names_its_victims_forgets_them_when_they_are_gone(world: World) -> None:
    """Otherwise a copy loaded again later would still count as about to go."""
    await world.gpu("8b")
    await world.grant_load("t1", "32b", evicts=("8b",))
    await world.ledger.victim_gone(server="gpu-1", model="32b", victim="8b")
    await world.loaded("32b")
    await world.grant_load("t2", "8b", agent="b")
    await world.loaded("8b")

    assert await world.grant("t3", "8b", agent="c") is Refusal.NO_SLOT
    assert world.tickets["t1"].evicts == ()
    assert world.tickets["t1"].evicted == ("8b",)


async def test_victims_of_a_finished_load_are_gone(world: World) -> None:
    await world.gpu("14b")
    await world.grant_load("t1", "32b", evicts=("14b",))

    await world.loaded("32b")

    assert world.residents() == {"32b"}


async def test_a_failed_load_sends_its_waiters_back_to_their_places(world: World) -> None:
    await world.gpu(slots=2)
    before = await world.waits("w1")
    await world.grant_load("t1", "14b", waiter="w1")
    await world.grant("t2", "14b", agent="b")
    world.clock.advance(5)

    await world.load_fails("14b", problem="out of memory")

    assert (world.tickets, world.loads) == ({}, [])
    assert world.ledger.replica.waiters == {"w1": before}
    assert world.record().learned == ServerLearned(
        blocked_until={"14b": 1010.0}, failures={"14b": 1}, load_problem="out of memory", success_rate=0.8
    )
    lapsed = await world.events("lapsed")
    assert [(e["call"], e["ticket"], e["reason"]) for e in lapsed] == [
        ("t1", "t1", "load-failed"),
        ("t2", "t2", "load-failed"),
    ]


async def test_victims_that_were_still_there_when_a_load_failed_serve_again(world: World) -> None:
    await world.gpu("14b")
    await world.grant_load("t1", "32b", evicts=("14b",))

    await world.load_fails("32b")

    assert await world.grant("t2", "14b") is None


async def test_a_model_that_fails_again_rests_longer_up_to_a_limit(world: World) -> None:
    await world.gpu()
    rests = []
    for _ in range(6):
        await world.grant_load("t1", "14b")
        await world.load_fails("14b")
        rests.append(world.record().learned.blocked_until["14b"] - world.clock())

    assert rests == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]


async def test_a_load_that_ends_well_clears_the_models_failures(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")
    await world.load_fails("14b")
    await world.grant_load("t1", "8b")
    await world.load_fails("8b", problem="no such blob")
    await world.grant_load("t1", "14b")
    await world.loaded("14b", took_s=0.0)

    learned = world.record().learned

    assert (learned.failures, learned.blocked_until) == ({"8b": 1}, {"8b": 1005.0})
    assert learned.load_problem == "no such blob"
    await world.grant_load("t2", "8b", agent="b")
    await world.loaded("8b", took_s=0.0)
    assert world.record().learned.load_problem == ""


async def test_the_end_of_a_load_that_is_over_changes_nothing(world: World) -> None:
    await world.gpu("14b")
    version = world.ledger.replica.version

    await world.loaded("14b")
    await world.load_fails("14b")

    assert world.ledger.replica.version == version


@pytest.mark.parametrize("event", ["begun", "victim gone", "done", "failed"])
async def test_a_probe_begun_before_a_load_moved_on_is_dropped(world: World, event: str) -> None:
    """It saw memory as it was before: the victim still there, the new copy not yet."""
    await world.gpu("8b")
    await world.grant_load("t1", "14b", evicts=("8b",))
    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=20.0)
    assert probe is not None
    match event:
        case "begun":
            await begins(world)
        case "victim gone":
            await world.ledger.victim_gone(server="gpu-1", model="14b", victim="8b")
        case "done":
            await world.loaded("14b")
        case "failed":
            await world.load_fails("14b")
    record = world.record()

    assert await world.ledger.probe_end(server="gpu-1", probe=probe, seen=seen("stale")) is False
    assert world.record() == record
    assert await world.sees("gpu-1", "fresh") is True


async def test_a_model_under_load_is_not_taken_as_resident_yet(world: World) -> None:
    await world.gpu()
    await world.grant_load("t1", "14b")

    await world.sees("gpu-1", "14b", "8b")

    assert world.residents() == {"8b"}
    assert world.tickets["t1"].state is TicketState.LOADING


async def test_probes_of_a_server_do_not_overlap(world: World) -> None:
    await world.servers(server("gpu-1"), server("gpu-2"))
    first = await world.ledger.probe_begin(server="gpu-1", lease_s=20.0)

    assert await world.ledger.probe_begin(server="gpu-1", lease_s=20.0) is None
    assert await world.ledger.probe_begin(server="gpu-2", lease_s=20.0) is not None
    assert first is not None
    await world.ledger.probe_end(server="gpu-1", probe=first, seen=seen())
    assert await world.ledger.probe_begin(server="gpu-1", lease_s=20.0) is not None


async def test_a_probe_whose_prober_died_is_overtaken_and_then_dropped(world: World) -> None:
    await world.servers(server())
    dead = await world.ledger.probe_begin(server="gpu-1", lease_s=20.0)
    world.clock.advance(20)
    await world.sees("gpu-1", "14b")

    assert dead is not None
    assert await world.ledger.probe_end(server="gpu-1", probe=dead, seen=seen("8b")) is False
    assert world.residents() == {"14b"}


async def test_nobody_probes_a_server_that_is_not_registered(world: World) -> None:
    assert await world.ledger.probe_begin(server="gpu-9", lease_s=20.0) is None


async def test_seeing_the_same_again_is_no_new_version(world: World) -> None:
    await world.gpu("14b")
    version = world.ledger.replica.version

    assert await world.sees("gpu-1", "14b", probed_at=2000.0) is False
    assert world.ledger.replica.version == version
    assert await world.sees("gpu-1", "14b", models=("14b",)) is True
    assert world.ledger.replica.version == version + 1


async def test_a_load_on_a_server_that_went_away_stays_for_its_runner_to_fail(world: World) -> None:
    await world.gpu("8b", slots=2)
    await world.grant("t1", "8b")
    await world.grant_load("t2", "14b", agent="b")

    await world.sees("gpu-1", ready=False, phase="Failed")

    assert set(world.tickets) == {"t1", "t2"}
    assert world.tickets["t1"] == ticket("t1", "8b")
    assert (await world.ledger.reap(now=1000.0)).undriven == (load("14b"),)
    assert await world.grant("t3", "8b", agent="c") is Refusal.SERVER_CLOSED
