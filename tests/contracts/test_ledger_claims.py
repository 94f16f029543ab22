"""Claims are re-checked where the truth is: slots, caps, memory, victims, drains (scheduling rules, section 5)."""

import pytest

from scheduler.core.ledger import GrantChange, Refusal
from scheduler.core.server import Resident
from scheduler.core.types import Priority
from tests.contracts.builders import World, server, ticket
from tests.reserves import RESERVES

BACKGROUND = Priority.BACKGROUND


async def test_a_warm_free_slot_is_given_and_the_call_may_run_at_once(world: World) -> None:
    await world.gpu("14b")

    assert await world.grant("t1", "14b") is None
    assert world.tickets["t1"] == ticket("t1", "14b")


async def test_a_server_nobody_registered_is_refused(world: World) -> None:
    await world.gpu("14b")

    assert await world.grant(server="gpu-9") is Refusal.SERVER_GONE


async def test_a_server_that_is_not_ready_takes_nothing(world: World) -> None:
    await world.gpu("14b")
    await world.sees("gpu-1", "14b", ready=False)

    assert await world.grant() is Refusal.SERVER_CLOSED


async def test_a_server_never_probed_takes_nothing(world: World) -> None:
    await world.servers(server())

    assert await world.grant() is Refusal.SERVER_CLOSED


async def test_the_last_slot_is_given_once(world: World) -> None:
    await world.gpu("14b", slots=2)

    results = [await world.grant(f"t{i}", agent=f"a{i}") for i in range(3)]

    assert results == [None, None, Refusal.NO_SLOT]


async def test_slots_count_per_copy(world: World) -> None:
    await world.gpu("14b", "8b")

    assert [await world.grant("t1", "14b"), await world.grant("t2", "8b")] == [None, None]


async def test_a_ticket_id_serves_once(world: World) -> None:
    await world.gpu("14b", slots=2)
    await world.grant("t1")

    assert await world.grant("t1") is Refusal.TICKET_GONE


async def test_the_cap_counts_all_models_of_a_server(world: World) -> None:
    await world.gpu("14b", "8b", max_concurrent=1)

    assert [await world.grant("t1", "14b"), await world.grant("t2", "8b")] == [None, Refusal.CAP_REACHED]


@pytest.mark.parametrize(
    ("cap", "reserve", "interactive", "background", "takes_interactive", "takes_background"),
    RESERVES,
)
async def test_the_reserve_keeps_places_for_interactive_calls(
    world: World,
    cap: int,
    reserve: int,
    interactive: int,
    background: int,
    takes_interactive: bool,
    takes_background: bool,
) -> None:
    """C37, C39: the limit lives where every process asks, and counts what really runs."""
    await world.gpu("14b", slots=9, max_concurrent=cap, interactive_reserve=reserve)
    for i in range(interactive):
        assert await world.grant(f"i{i}") is None
    for i in range(background):
        assert await world.grant(f"b{i}", priority=BACKGROUND) is None

    taken = await world.grant("new-b", priority=BACKGROUND) is None
    assert taken is takes_background
    if taken:
        await world.releases("new-b")
    assert (await world.grant("new-i") is None) is takes_interactive


async def test_a_held_place_is_lent_to_its_own_agent_but_to_nobody_else(world: World) -> None:
    await world.gpu("14b", max_concurrent=1)
    await world.plans("p1", "14b", agent="a")

    assert await world.grant("other", agent="b") is Refusal.NO_SLOT
    assert await world.grant("triage", agent="a") is None
    assert await world.grant("second", agent="a") is Refusal.NO_SLOT


async def test_a_lowered_cap_revokes_nothing_and_holds_from_the_first_release_on(world: World) -> None:
    """C39: the new limit takes effect at once and forgets no running call."""
    await world.gpu("14b", slots=4, max_concurrent=2)
    await world.grant("A")
    await world.grant("B")

    await world.servers(server(slots=4, max_concurrent=1))

    assert set(world.tickets) == {"A", "B"}
    await world.releases("A")
    assert await world.grant("C") is Refusal.CAP_REACHED
    await world.releases("B")
    assert await world.grant("C") is None
    assert await world.grant("D") is Refusal.CAP_REACHED
    await world.servers(server(slots=4, max_concurrent=2))
    assert await world.grant("D") is None


async def test_without_a_copy_nothing_is_claimed(world: World) -> None:
    await world.gpu("14b")

    assert await world.grant("t1", "8b") is Refusal.NO_COPY


async def test_a_refused_change_leaves_the_others_of_its_batch_alone(world: World) -> None:
    await world.gpu("14b")
    changes = [GrantChange(ticket=ticket(f"t{i}", agent=f"a{i}")) for i in range(3)]

    committed = await world.ledger.commit(changes=changes, now=1000.0)

    assert committed.results == (None, Refusal.NO_SLOT, Refusal.NO_SLOT)
    assert set(world.tickets) == {"t0"}


async def test_refusals_alone_are_no_new_version(world: World) -> None:
    await world.gpu("14b")
    version = world.ledger.replica.version

    committed = await world.ledger.commit(changes=[GrantChange(ticket=ticket("t1", "8b"))], now=1000.0)

    assert (committed.version, world.ledger.replica.version) == (version, version)


async def test_two_names_of_the_same_weights_are_one_copy_with_one_set_of_slots(world: World) -> None:
    await world.servers(server(slots=2))
    copy = Resident(model="14b", footprint_mib=10240, aliases=("14b-latest",))
    await world.sees("gpu-1", residents=(copy,))

    assert await world.grant("t1", "14b") is None
    assert await world.grant("t2", "14b-latest", agent="b") is None
    assert await world.grant("t3", "14b", agent="c") is Refusal.NO_SLOT
    assert await world.grant_load("t4", "14b-latest", footprint_mib=1, agent="c") is Refusal.COPY_EXISTS
    await world.releases("t1")
    assert await world.grant_load("t4", "32b", evicts=("14b",), agent="c") is Refusal.VICTIM_BUSY
    await world.releases("t2")
    assert await world.grant_load("t4", "32b", evicts=("14b",), agent="c") is None
    assert await world.grant("t5", "14b-latest", agent="b") is Refusal.NO_COPY
