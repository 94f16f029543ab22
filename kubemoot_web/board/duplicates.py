"""Servers that may be one engine under two names, as pages and programs are told of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubemoot_web.board.ids import dom_id
from scheduler.core.duplicates import Duplicate, duplicates_of, duplicates_with
from scheduler.core.ledger import ServerRecord
from scheduler.core.messages.duplicates import MOST_PAIRS, more_duplicates, possible_duplicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two servers that may be one, and why in words."""

    id: str
    first: str
    second: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The first pairs, and in words how many more there are."""

    shown: tuple[Pair, ...]
    more: str


def pairs_of(*, records: Mapping[str, ServerRecord]) -> Pairs:
    """Warn of all servers that may be one."""
    return _pairs(duplicates_of(records=records))


def pairs_with(*, records: Mapping[str, ServerRecord], server: str) -> Pairs:
    """Warn of the servers that may be this one."""
    return _pairs(duplicates_with(records=records, server=server))


def duplicate_docs(*, pairs: Sequence[Duplicate], server: str) -> list[dict[str, Any]]:
    """Write the servers that may be this one, for programs."""
    return [
        {"endpoint": pair.other(server), "address": pair.address, "message": possible_duplicate(pair=pair)}
        for pair in pairs
        if server in (pair.first, pair.second)
    ]


def _pairs(found: Sequence[Duplicate]) -> Pairs:
    shown = tuple(
        Pair(
            id=dom_id("pair", f"{pair.first} {pair.second}"),
            first=pair.first,
            second=pair.second,
            says=possible_duplicate(pair=pair),
        )
        for pair in found[:MOST_PAIRS]
    )
    return Pairs(shown=shown, more=more_duplicates(pairs=found))
