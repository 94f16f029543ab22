"""A-35. Servers of one resource group never hold more tickets together than its cap, whoever claims and when."""

import asyncio
from typing import Any

import pytest

from providers.core.specs import ResourceGroup
from scheduler.core.ledger import GrantChange, Refusal, ServerConfig
from scheduler.core.types import TicketState
from tests.contracts.builders import World, server, ticket

PLACES = {"t1": "gpu-1", "t2": "gpu-2", "t3": "gpu-3"}


def on_bus(name: str, *, cap: int = 1, bus: str = "bus", **more: Any) -> ServerConfig:
    """Describe a server on a memory bus."""
    return server(name, resource_group=ResourceGroup(name=bus, max_concurrent=cap), **{"slots": 9} | more)


async def on_one_bus(world: World, *, cap: int = 1, servers: int = 2) -> None:
    """Register servers on one bus, and one that is on none; each holds the model."""
    names = [f"gpu-{number}" for number in range(1, servers + 1)]
    await world.servers(*(on_bus(name, cap=cap) for name in names), server("alone", slots=9))
    for name in (*names, "alone"):
        await world.sees(name, "14b")


async def test_a_call_on_one_server_takes_the_place_on_the_other(world: World) -> None:
    await on_one_bus(world)

    assert await world.grant("t1", server="gpu-1") is None
    assert await world.grant("t2", server="gpu-2") is Refusal.GROUP_FULL
    assert await world.grant("t3", server="gpu-1") is Refusal.GROUP_FULL
    assert await world.grant("t4", server="alone") is None
    await world.releases("t1")
    assert await world.grant("t2", server="gpu-2") is None


async def test_of_many_that_claim_on_all_servers_at_once_as_many_get_a_place_as_the_group_has(world: World) -> None:
    """Claims of one breath are checked one after another, in one step."""
    await on_one_bus(world, cap=3, servers=3)

    results = await asyncio.gather(*(world.grant(f"t{n}", server=f"gpu-{n % 3 + 1}") for n in range(60)))

    assert [number for number, refusal in enumerate(results) if refusal is None] == [0, 1, 2]
    assert set(results[3:]) == {Refusal.GROUP_FULL}


async def test_a_place_given_back_on_one_server_can_be_claimed_on_the_other_in_the_same_breath(world: World) -> None:
    await on_one_bus(world)
    await world.grant("t1", server="gpu-1")

    results = await asyncio.gather(
        world.grant("t2", server="gpu-2"),
        world.releases("t1"),
        world.grant("t3", server="gpu-2"),
        world.grant("t4", server="gpu-1"),
    )

    assert results == [Refusal.GROUP_FULL, True, None, Refusal.GROUP_FULL]


async def test_a_claim_is_all_or_nothing(world: World) -> None:
    """Whichever of the limits has no place, none of them holds anything afterwards: nothing is taken one by one."""
    await world.servers(on_bus("gpu-1", cap=2, slots=1), on_bus("gpu-2", cap=2, max_concurrent=1))
    await world.sees("gpu-1", "14b")
    await world.sees("gpu-2", "14b")
    await world.grant("t1", server="gpu-1")

    assert await world.grant("t2", server="gpu-1") is Refusal.NO_SLOT
    assert await world.grant("t3", server="gpu-2") is None
    assert await world.grant("t4", server="gpu-2") is Refusal.CAP_REACHED
    await world.releases("t1")
    assert await world.grant("t4", server="gpu-2") is Refusal.CAP_REACHED
    assert await world.grant("t5", server="gpu-1") is None


async def test_a_load_takes_a_place_in_the_group_by_its_ticket(world: World) -> None:
    await on_one_bus(world)
    await world.grant_load("t1", "8b", server="gpu-1")

    assert await world.grant("t2", server="gpu-2") is Refusal.GROUP_FULL
    assert await world.grant_load("t3", "8b", server="gpu-2") is Refusal.GROUP_FULL
    assert len(world.loads) == 1
    await world.releases("t1")
    assert await world.grant("t2", server="gpu-2") is None


async def test_a_held_place_is_lent_to_its_own_agent_on_every_server_of_the_group(world: World) -> None:
    await on_one_bus(world)
    await world.plans("p1", "14b", agent="a", server="gpu-1")

    assert await world.grant("other", agent="b", server="gpu-2") is Refusal.GROUP_FULL
    assert await world.grant("triage", agent="a", server="gpu-2") is None
    assert await world.grant("second", agent="a", server="gpu-2") is Refusal.GROUP_FULL


@pytest.mark.parametrize("agent", ["a", "b"])
async def test_a_call_gives_its_held_place_back_and_takes_one_on_the_other_server_in_one_step(
    world: World, agent: str
) -> None:
    """What is given back counts for nobody, whosever it was; nothing of it is subtracted twice."""
    await on_one_bus(world, cap=2)
    await world.plans("p1", "14b", agent="a", server="gpu-1")
    await world.grant("t1", agent="c", server="gpu-2")

    assert await world.grant("t2", agent=agent, server="gpu-2", replaces="p-p1") is None
    assert {held.id: held.server for held in world.tickets.values()} == {"t1": "gpu-2", "t2": "gpu-2"}
    assert await world.grant("t3", agent=agent, server="gpu-1") is Refusal.GROUP_FULL


async def test_a_held_place_is_no_second_one_to_be_given_back(world: World) -> None:
    """The group is full with others: giving the own place back makes room for one, not for two."""
    await on_one_bus(world, cap=2)
    await world.plans("p1", "14b", agent="a", server="gpu-1")
    await world.grant("t1", agent="a", server="gpu-2")
    await world.grant("t2", agent="a", server="gpu-2")

    assert await world.grant("t3", agent="a", server="gpu-2", replaces="p-p1") is Refusal.GROUP_FULL
    assert world.tickets["p-p1"].state is TicketState.PLANNED


@pytest.mark.parametrize("end", ["release", "lapse", "server goes", "server is replaced", "stands aside"])
async def test_whatever_ends_a_ticket_frees_its_place_in_the_group(world: World, end: str) -> None:
    await on_one_bus(world)
    await world.waits("w1", "8b")
    if end == "stands aside":
        await world.grant_load("t1", "8b", waiter="w1", server="gpu-1")
    else:
        await world.grant("t1", server="gpu-1")
    match end:
        case "release":
            await world.releases("t1")
        case "lapse":
            world.clock.advance(15)
            await world.ledger.reap(now=world.clock())
        case "server goes":
            await world.servers(on_bus("gpu-2"))
        case "server is replaced":
            await world.servers(on_bus("gpu-1", endpoint="http://another"), on_bus("gpu-2"))
        case _:
            await world.stand_aside("w1", model="8b")

    assert await world.grant("t2", server="gpu-2") is None
    assert await world.grant("t3", server="gpu-2") is Refusal.GROUP_FULL


async def test_a_lowered_cap_revokes_nothing_and_holds_from_the_first_release_on(world: World) -> None:
    """A-34 for a group. Raised again, exactly the difference comes in."""
    await on_one_bus(world, cap=2)
    await world.grant("t1", server="gpu-1")
    await world.grant("t2", server="gpu-2")

    await world.servers(on_bus("gpu-1"), on_bus("gpu-2"))

    assert set(world.tickets) == {"t1", "t2"}
    await world.releases("t1")
    assert await world.grant("t3", server="gpu-1") is Refusal.GROUP_FULL
    await world.releases("t2")
    assert await world.grant("t3", server="gpu-1") is None
    await world.servers(on_bus("gpu-1", cap=2), on_bus("gpu-2", cap=2))
    assert await world.grant("t4", server="gpu-2") is None
    assert await world.grant("t5", server="gpu-2") is Refusal.GROUP_FULL


async def test_calls_go_with_their_server_from_one_group_into_another(world: World) -> None:
    await on_one_bus(world, servers=3)
    await world.grant("t1", server="gpu-1")

    await world.servers(on_bus("gpu-1", bus="bus-2"), on_bus("gpu-2"), on_bus("gpu-3", bus="bus-2"))

    assert await world.grant("t2", server="gpu-2") is None
    assert await world.grant("t3", server="gpu-3") is Refusal.GROUP_FULL
    await world.servers(server("gpu-1", slots=9), on_bus("gpu-2"), on_bus("gpu-3", bus="bus-2"))
    assert await world.grant("t3", server="gpu-3") is None
    assert await world.grant("t4", server="gpu-1") is None


async def test_what_ran_before_there_was_a_group_counts_in_it(world: World) -> None:
    await world.servers(server("gpu-1", slots=9), server("gpu-2", slots=9))
    for name in ("gpu-1", "gpu-2"):
        await world.sees(name, "14b")
    await world.grant("t1", server="gpu-1")

    await world.servers(on_bus("gpu-1"), on_bus("gpu-2"))

    assert await world.grant("t2", server="gpu-2") is Refusal.GROUP_FULL


async def test_a_server_of_a_group_that_goes_and_comes_again_is_in_it_once_more(world: World) -> None:
    await on_one_bus(world)
    await world.servers(on_bus("gpu-2"))
    await on_one_bus(world)
    await world.grant("t1", server="gpu-1")

    assert await world.grant("t2", server="gpu-2") is Refusal.GROUP_FULL


async def test_a_server_of_a_group_that_goes_and_comes_again_without_one_counts_in_none(world: World) -> None:
    await on_one_bus(world)
    await world.servers(on_bus("gpu-2"))
    await world.servers(server("gpu-1", slots=9), on_bus("gpu-2"))
    await world.sees("gpu-1", "14b")
    await world.grant("t1", server="gpu-1")

    assert await world.grant("t2", server="gpu-2") is None


async def test_grants_of_one_commit_count_for_each_other_across_servers(world: World) -> None:
    await on_one_bus(world, cap=2, servers=3)
    changes = [GrantChange(ticket=ticket(id, agent=id, server=place)) for id, place in PLACES.items()]

    committed = await world.ledger.commit(changes=changes, now=1000.0)

    assert committed.results == (None, None, Refusal.GROUP_FULL)
