"""What a load of a size would cost on each server, the cheapest first: kept for the sizes that are asked for.

House rules: a list is made when it is first asked for and never changed after; a server whose price changed is moved in
a copy of it, when it is next asked for.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scheduler.core.server import Server

UNUSED_ROOM_S = 2.0
FAILURE_S = 60.0
SECOND_COPY_CALLS = 2
COST_DIGITS = 9
"""Equal costs are sums in different orders: the last bits must not decide between them."""
SIZES_KEPT = 64
CHANGES_KEPT = 128


class Price(NamedTuple):  # not a dataclass: these are sorted by the thousand
    """What a load costs on a server, in the order of the choice: lowest cost, then higher weight, then name."""

    key: float
    lightness: float
    server: str
    cost_s: float


class PricedLoad(NamedTuple):  # not a dataclass: every decision looks some up
    """What is priced: a load of so many MiB; a second copy has a price of its own."""

    mib: int
    is_second_copy: bool


Change = tuple[Server, Server]


def load_cost(*, server: Server, footprint_mib: int, is_second_copy: bool) -> float:
    """Price a load into free memory: its time, the room it leaves unused, the risk, and a second copy's price."""
    assert server.usable_mib is not None
    unused = UNUSED_ROOM_S * (server.usable_mib - footprint_mib) / server.usable_mib
    second = SECOND_COPY_CALLS * server.call_seconds if is_second_copy else 0.0
    return server.load_seconds(footprint_mib) + unused + FAILURE_S * server.failure_rate + second


def price_of(*, server: Server, load: PricedLoad) -> Price:
    """Price a load on a server with a budget."""
    cost_s = load_cost(server=server, footprint_mib=load.mib, is_second_copy=load.is_second_copy)
    return Price(round(cost_s, COST_DIGITS), -server.weight, server.name, cost_s)


class Prices:
    """The lists of one moment."""

    def __init__(self, lists: Mapping[PricedLoad, tuple[list[Price], tuple[Change, ...]]] | None = None) -> None:
        self._lists = dict(lists or {})

    def __len__(self) -> int:
        return len(self._lists)

    def changed(self, *, before: Server, after: Server) -> "Prices":
        """Make the prices with one server replaced; the same where that changes no price."""
        if before.price_facts == after.price_facts or not self:
            return self
        return Prices(
            {
                load: (prices, (*changes, (before, after)))
                for load, (prices, changes) in self._lists.items()
                if len(changes) < CHANGES_KEPT
            }
        )

    def cheapest_first(self, *, load: PricedLoad, servers: Mapping[str, Server]) -> list[Price]:
        """List the prices of a load on all servers that have a price, open or not, with room or without."""
        known = self._lists.pop(load, None)
        if known is None:
            prices = sorted(price_of(server=each, load=load) for each in servers.values() if has_price(each))
        else:
            prices = _moved(known[0], changes=known[1], load=load)
        # The one asked for last is dropped last.
        self._lists[load] = (prices, ())
        if len(self._lists) > SIZES_KEPT:
            del self._lists[next(iter(self._lists))]
        return prices


def has_price(server: Server) -> bool:
    """Say whether a load can be priced on a server: it loads, and has a budget."""
    return server.can_load and server.usable_mib is not None and server.usable_mib > 0


def _moved(prices: list[Price], *, changes: Iterable[Change], load: PricedLoad) -> list[Price]:
    if not changes:
        return prices
    moved = prices.copy()
    for before, after in changes:
        if has_price(before):
            del moved[bisect_left(moved, price_of(server=before, load=load))]
        if has_price(after):
            insort(moved, price_of(server=after, load=load))
    return moved
