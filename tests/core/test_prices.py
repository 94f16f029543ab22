"""Prices that were kept up to date are those that would be worked out afresh."""

from random import Random

import pytest

from scheduler.core.prices import PricedLoad, Prices, has_price, price_of
from tests.core.placement.snapshots import SERVERS
from tests.core.test_index import random_server

STEPS = 60
LOADS = tuple(PricedLoad(mib=mib, is_second_copy=second) for mib in (1024, 8192) for second in (False, True))


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_come_first_whatever_happened_to_the_servers(seed):
    """Lists are asked for now and then, so that several changes, or none, lie between two looks."""
    rng = Random(seed)
    servers = {name: random_server(rng, name) for name in SERVERS}
    prices = Prices()

    for _ in range(STEPS):
        after = random_server(rng, rng.choice(SERVERS))
        prices = prices.changed(before=servers[after.name], after=after)
        servers[after.name] = after
        load = rng.choice(LOADS)

        if rng.random() < 0.3:
            expected = sorted(price_of(server=each, load=load) for each in servers.values() if has_price(each))
            assert prices.cheapest_first(load=load, servers=servers) == expected


def test_many_changes_between_two_looks_are_a_new_list():
    rng = Random(1)
    servers = {name: random_server(rng, name) for name in SERVERS}
    prices = Prices()
    prices.cheapest_first(load=LOADS[0], servers=servers)

    for _ in range(1000):
        after = random_server(rng, rng.choice(SERVERS))
        prices = prices.changed(before=servers[after.name], after=after)
        servers[after.name] = after

    expected = sorted(price_of(server=each, load=LOADS[0]) for each in servers.values() if has_price(each))
    assert prices.cheapest_first(load=LOADS[0], servers=servers) == expected


def test_only_so_many_sizes_are_kept():
    servers = {"gpu-1": random_server(Random(2), "gpu-1")}
    prices = Prices()

    for mib in range(1, 200):
        prices.cheapest_first(load=PricedLoad(mib=mib, is_second_copy=False), servers=servers)

    assert len(prices) == 64
