"""Memory is promised once: loads, victims, reserves, drains (scheduling rules, section 5)."""

import asyncio

import pytest

from scheduler.core.ledger import Refusal
from scheduler.core.types import TicketState
from tests.contracts.builders import SIZES, World, load, server


async def test_a_load_reserves_its_memory_at_once(world: World) -> None:
    """C41: two plans read the same free memory; only one of them gets it."""
    await world.gpu(total_mib=24564, slots=4)

    first = await world.grant_load("t1", "14b", footprint_mib=14336)
    second = await world.grant_load("t2", "8b", footprint_mib=14336, agent="b")

    assert (first, second) == (None, Refusal.NO_MEMORY)
    assert [x.model for x in world.loads] == ["14b"]
    assert world.tickets["t1"].state is TicketState.LOADING


async def test_a_cold_model_is_loaded_once_however_many_ask_at_the_same_time(world: World) -> None:
    """C40: the second one joins the first one's load."""
    await world.gpu(slots=2)

    results = await asyncio.gather(*(world.grant_load(f"t{i}", "14b", agent=f"a{i}") for i in range(5)))

    assert (results.count(None), results.count(Refusal.COPY_EXISTS)) == (1, 4)
    assert await world.grant("joined", "14b", agent="b") is None
    assert world.tickets["joined"].state is TicketState.LOADING


@pytest.mark.parametrize(
    ("total", "reserve", "size", "fits"),
    [
        (32768, None, 28835, True),  # 12 % of 32768, rounded up, is 3933
        (32768, None, 28836, False),
        (8192, None, 6144, True),  # at least 2048 stay free
        (8192, None, 6145, False),
        (8192, 0, 8192, True),
        (8192, 0, 8193, False),
    ],
)
async def test_the_reserve_stays_free(world: World, total: int, reserve: int | None, size: int, fits: bool) -> None:
    await world.gpu(total_mib=total, reserve_mib=reserve)

    assert await world.grant_load("t1", "14b", footprint_mib=size) is (None if fits else Refusal.NO_MEMORY)


async def test_a_server_without_a_known_budget_takes_no_load(world: World) -> None:
    await world.gpu(total_mib=None)

    assert await world.grant_load("t1", "14b") is Refusal.NO_MEMORY


async def test_an_engine_that_serves_what_it_serves_takes_no_load(world: World) -> None:
    await world.gpu(can_load=False)

    assert await world.grant_load("t1", "14b") is Refusal.NO_MEMORY


async def test_a_resident_of_unknown_size_leaves_no_room_to_promise(world: World) -> None:
    await world.gpu("mystery")

    assert await world.grant_load("t1", "8b") is Refusal.NO_MEMORY


async def test_a_size_known_of_the_model_or_from_another_server_counts(world: World) -> None:
    await world.servers(server("gpu-1"), server("gpu-2"), mystery=20480)
    await world.sees("gpu-1", "mystery")
    await world.sees("gpu-2")

    assert await world.grant_load("t1", "14b") is Refusal.NO_MEMORY
    assert await world.grant_load("t2", "8b") is None


async def test_idle_residents_make_room_as_victims(world: World) -> None:
    await world.gpu("14b", "8b")

    assert await world.grant_load("t1", "32b") is Refusal.NO_MEMORY
    assert await world.grant_load("t1", "32b", evicts=("8b",)) is Refusal.NO_MEMORY
    assert await world.grant_load("t1", "32b", evicts=("14b",)) is None
    assert world.loads == [load("32b", evicts=("14b",))]


async def test_a_victim_in_use_is_never_unloaded(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1", "14b")

    assert await world.grant_load("t2", "32b", evicts=("14b",)) is Refusal.VICTIM_BUSY


async def test_a_victim_that_a_selected_agent_holds_is_in_use(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", "14b")

    assert await world.grant_load("t2", "32b", evicts=("14b",), agent="b") is Refusal.VICTIM_BUSY


async def test_a_victim_that_is_not_there_frees_nothing(world: World) -> None:
    await world.gpu("14b")

    assert await world.grant_load("t2", "32b", evicts=("8b",)) is Refusal.VICTIM_BUSY


async def test_memory_of_a_victim_is_spent_once(world: World) -> None:
    await world.gpu("32b")
    assert await world.grant_load("t1", "14b", evicts=("32b",)) is None

    assert await world.grant_load("t2", "8b", evicts=("32b",)) is Refusal.VICTIM_BUSY
    assert await world.grant_load("t2", "8b", footprint_mib=28835 - 10240 + 1) is Refusal.NO_MEMORY
    assert await world.grant_load("t2", "8b", footprint_mib=28835 - 10240) is None


async def test_a_model_about_to_be_unloaded_takes_no_calls_and_is_no_copy(world: World) -> None:
    await world.gpu("14b", slots=4)
    await world.grant_load("t1", "32b", evicts=("14b",))

    assert await world.grant("t2", "14b") is Refusal.NO_COPY


async def test_a_victim_does_not_come_back_before_it_is_gone(world: World) -> None:
    """The load that wants it gone would unload the new copy under its callers."""
    await world.gpu("8b", total_mib=65536)
    await world.grant_load("t1", "32b", evicts=("8b",))

    assert await world.grant_load("t2", "8b") is Refusal.COPY_EXISTS
    await world.ledger.victim_gone(server="gpu-1", model="32b", victim="8b")
    assert await world.grant_load("t2", "8b") is None


async def test_tickets_whose_copy_vanished_keep_their_memory(world: World) -> None:
    await world.gpu("32b")
    await world.grant("t1", "32b", footprint_mib=20480)
    await world.sees("gpu-1")

    assert await world.grant_load("t2", "14b") is Refusal.NO_MEMORY
    assert await world.grant_load("t2", "8b") is None


async def test_only_the_drained_for_model_is_loaded_while_a_drain_stands(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1", "32b")
    await world.drain("w1", model="32b")

    assert await world.grant_load("t1", "8b", agent="b") is Refusal.DRAINING
    assert await world.grant_load("t1", "32b", evicts=("14b",), waiter="w1") is None


async def test_a_load_that_rests_on_another_loads_victim_unloads_it_too(world: World) -> None:
    """Otherwise the other load could fail, its victim stay, and both be in memory at once."""
    await world.gpu("32b")
    await world.grant_load("t1", "14b", evicts=("32b",))

    await world.grant_load("t2", "8b", footprint_mib=SIZES["14b"])

    assert {x.model: x.evicts for x in world.loads} == {"14b": ("32b",), "8b": ("32b",)}
    await world.load_fails("14b")
    assert await world.grant("t3", "32b", agent="c") is Refusal.NO_COPY
    await world.ledger.victim_gone(server="gpu-1", model="8b", victim="32b")
    assert world.residents() == set()
