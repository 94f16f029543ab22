"""What must always hold, and what is found where it does not."""

import pytest

from providers.core.specs import ResourceGroup
from scheduler.core.invariants import Rule, Violation, check
from scheduler.core.types import LoadUnderWay
from tests.builders import cluster, server

PLANNED = "planned"


def broken(given, *, at=1000.0):
    """Check one server."""
    return check(cluster(given).at(at))


def loading(model, mib, *evicts):
    """Make a load under way."""
    return LoadUnderWay(server="gpu-1", model=model, footprint_mib=mib, started_at=1000.0, evicts=evicts)


def test_an_idle_server_breaks_nothing():
    assert broken(server("gpu-1").loaded("14b")) == ()


def test_a_full_copy_is_fine_and_one_more_is_not():
    full = server("gpu-1").loaded("14b", slots=2).ticket("14b").ticket("14b")

    assert broken(full) == ()
    assert broken(full.ticket("14b")) == (Violation(server="gpu-1", rule=Rule.SLOTS, model="14b", held=3, limit=2),)


def test_a_held_place_is_lent_to_its_agents_own_calls_but_is_a_place_to_everybody_else():
    held = server("gpu-1").loaded("14b", slots=1).ticket("14b", state=PLANNED, agent="a")

    assert broken(held.ticket("14b", agent="a")) == ()
    assert broken(held.ticket("14b", agent="b")) == (
        Violation(server="gpu-1", rule=Rule.SLOTS, model="14b", held=2, limit=1),
    )


def test_the_cap_counts_every_model_of_a_server():
    given = server("gpu-1").loaded("14b").loaded("8b", 6144).ticket("14b").ticket("8b")

    assert broken(given.having(max_concurrent=2)) == ()
    assert broken(given.having(max_concurrent=1)) == (Violation(server="gpu-1", rule=Rule.CAP, held=2, limit=1),)


@pytest.mark.parametrize(("reserve", "found"), [(0, ()), (1, (Rule.BACKGROUND_CAP,))])
def test_background_calls_leave_the_reserve_alone(reserve, found):
    given = (
        server("gpu-1").loaded("14b", slots=2).ticket("14b", priority="background").ticket("14b", priority="background")
    )

    violations = broken(given.having(max_concurrent=2, interactive_reserve=reserve))

    assert tuple(violation.rule for violation in violations) == found


@pytest.mark.parametrize(("cap", "found"), [(3, ()), (2, (Rule.GROUP_CAP,))])
def test_the_servers_of_a_resource_group_share_its_cap(cap, found):
    """A-35. A held place that is lent is no second one, here too, though the call runs on another server."""
    bus = ResourceGroup(name="bus-1", max_concurrent=cap)
    first = server("gpu-1").loaded("14b").ticket("14b").having(resource_group=bus)
    second = server("gpu-2").loaded("8b", slots=3).ticket("8b").ticket("8b", agent="a").having(resource_group=bus)
    lender = server("gpu-3").loaded("14b").ticket("14b", state=PLANNED, agent="a").having(resource_group=bus)
    outside = server("gpu-4").loaded("14b").ticket("14b")

    violations = check(cluster(outside, first, second, lender).at())

    assert violations == tuple(Violation(server="gpu-1", rule=rule, held=3, limit=2) for rule in found)


@pytest.mark.parametrize(("mib", "found"), [(22528, ()), (22529, (Rule.MEMORY,))])
def test_loads_and_residents_fit_together(mib, found):
    given = server("gpu-1").total(32768).loaded("14b", 10240).having(loads=(loading("32b", mib),))

    assert tuple(violation.rule for violation in broken(given)) == found


def test_a_victim_counts_as_gone():
    given = server("gpu-1").total(32768).loaded("14b", 20480).having(loads=(loading("32b", 20480, "14b"),))

    assert broken(given) == ()


def test_a_victim_that_has_calls_is_in_use():
    given = server("gpu-1").total(65536).loaded("14b").ticket("14b").having(loads=(loading("32b", 20480, "14b"),))

    assert Violation(server="gpu-1", rule=Rule.VICTIM_IN_USE, model="14b") in broken(given)


def test_a_model_is_not_loaded_where_it_is_resident():
    given = server("gpu-1").loaded("14b").having(loads=(loading("14b", 10240),))

    assert Violation(server="gpu-1", rule=Rule.TWO_COPIES, model="14b") in broken(given)


@pytest.mark.parametrize("given", [server("gpu-1").total(None), server("gpu-1").having(can_load=False)])
def test_a_server_that_takes_no_loads_has_none(given):
    assert broken(given.having(loads=(loading("14b", 10240),))) == (
        Violation(server="gpu-1", rule=Rule.NO_BUDGET, model="14b", held=10240),
    )
