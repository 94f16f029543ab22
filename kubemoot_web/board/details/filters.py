"""The filters of the calls page, as its address tells them. What is not understood is said, and not used."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from providers.core.naming import agent_name, server_name, split_agent_name, split_server_name
from scheduler.core.call_history import CallState
from scheduler.core.messages.history import filter_not_understood

SINCE = {"15m": 900, "1h": 3600, "6h": 21600, "24h": 86400, "7d": 604800}
ACTIONS = ("use", "join", "queue", "load", "evict", "wait")
STATES = tuple(state.value for state in CallState)
TEXTS = ("agent", "crew", "server", "model")
NAMES = (*TEXTS, "state", "action", "since")
LONGEST = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What to look for. `values` are what the form shows, `columns` what the table is asked, both without the empty."""

    values: Mapping[str, str]
    columns: Mapping[str, str]
    since_s: int | None
    before: str
    problems: tuple[str, ...]

    def address(self, **changes: str) -> str:
        """Write the shortest query that says the same, with these changes; nothing where nothing is asked."""
        wanted = {**self.values, "before": self.before, **changes}
        query = urlencode([(name, value) for name, value in wanted.items() if value])
        return f"?{query}" if query else ""


def filters_of(asked: Mapping[str, str]) -> Filters:
    """Read the filters of an address; a bare name of an agent or a crew is one of the default namespace.

    That of an agent stays as it was typed in `values`: it may be a key's name too, by which calls without an agent go.
    """
    given = {name: asked.get(name, "").strip()[:LONGEST] for name in NAMES}
    given = {name: value for name, value in given.items() if value}
    allowed = {"state": STATES, "action": ACTIONS, "since": tuple(SINCE)}
    wrong = {name: value for name, value in given.items() if name in allowed and value not in allowed[name]}
    right = {name: value for name, value in given.items() if name not in wrong}
    columns = {name: _spelled(name, value) for name, value in right.items()}
    values = columns | {name: right[name] for name in right.keys() & {"agent"}}
    return Filters(
        values=values,
        columns={name: value for name, value in columns.items() if name != "since"},
        since_s=SINCE.get(values.get("since", "")),
        before=asked.get("before", "").strip()[:LONGEST],
        problems=tuple(filter_not_understood(name=name, value=value) for name, value in wrong.items()),
    )


def _spelled(name: str, value: str) -> str:
    if name in ("agent", "crew"):
        space, bare = split_agent_name(value)
        return agent_name(namespace=space, name=bare)
    if name == "server":
        space, bare = split_server_name(value)
        return server_name(namespace=space, name=bare)
    return value
