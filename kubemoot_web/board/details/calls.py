"""The calls page: what is looked for, what can be chosen from, what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.board.details.call_rows import CallRow, rows_of
from kubemoot_web.board.details.filters import ACTIONS, SINCE, STATES, TEXTS, Filters
from kubemoot_web.board.marks import palette_of
from scheduler.core import messages
from scheduler.core.call_history import CallPage
from scheduler.core.replica import Replica

PAGE = 50
"""How many calls one page shows."""
SINCE_WORDS = {"15m": "15 minutes", "1h": "hour", "6h": "6 hours", "24h": "day", "7d": "week"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """One page of calls. `older` is the address of the next page; `is_newest` on the first one, which stays live."""

    filters: Filters
    rows: tuple[CallRow, ...]
    older: str
    newest: str
    is_newest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFilter:
    """A filter that is typed: its value, and the names that are known."""

    name: str
    value: str
    known: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What the form offers: pairs of value and words where one chooses."""

    texts: tuple[TextFilter, ...]
    states: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, str], ...]
    since: tuple[tuple[str, str], ...]


def calls_of(*, filters: Filters, page: CallPage, keys: Mapping[str, str], replica: Replica, now: float) -> Calls:
    """Show a page of calls; `keys` are the names of their keys."""
    return Calls(
        filters=filters,
        rows=rows_of(calls=page.calls, keys=keys, palette=palette_of(replica), now=now),
        older=filters.address(before=page.next) if page.next else "",
        newest=filters.address(before=""),
        is_newest=not filters.before,
    )


def offered(*, filters: Filters, replica: Replica, agents: Sequence[str], crews: Sequence[str]) -> Offered:
    """List what can be chosen from."""
    residents = (resident.model for record in replica.servers.values() for resident in record.seen.residents)
    known: Mapping[str, Sequence[str]] = {
        "agent": agents,
        "crew": crews,
        "server": sorted(replica.servers),
        "model": sorted({*replica.footprints, *residents}),
    }
    return Offered(
        texts=tuple(TextFilter(name=name, value=filters.values.get(name, ""), known=known[name]) for name in TEXTS),
        states=tuple((state, messages.call_state(state=state)) for state in STATES),
        actions=tuple((action, action) for action in ACTIONS),
        since=tuple((value, SINCE_WORDS[value]) for value in SINCE),
    )
