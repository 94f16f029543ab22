"""Replays deltas and journal, version by version: after each no rule may be broken and no caller lost."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from redis import Redis

from scheduler.core.invariants import Violation, check, places_taken
from scheduler.core.replica import Replica
from scheduler.core.server_parts import whole_servers
from scheduler.stores.journal import read_events
from scheduler.stores.layout import root_of
from tests.race.fleet import CONFIG

ENDINGS = ("delivered", "given_up", "stood_aside", "lapsed")


@dataclass(kw_only=True)
class Referee:
    """Follows a ledger from its first version."""

    client: "Redis"
    name: str
    replica: Replica = field(default_factory=lambda: Replica(config=CONFIG))
    violations: list[tuple[int, Violation]] = field(default_factory=list)
    enqueued: dict[str, str] = field(default_factory=dict)
    endings: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    most_of_key: int = 0
    most_of_group: int = 0
    cursors: dict[str, str] = field(default_factory=lambda: {"deltas": "-", "journal": "-"})

    def read_on(self) -> None:
        """Check everything that was committed since the last time."""
        while page := self._page("deltas", count=500):
            for deltas, told in zip(page, self._page("journal", count=len(page)), strict=True):
                self._take(deltas, told)

    def _page(self, stream: str, *, count: int) -> list[bytes]:
        page: Any = self.client.xrange(f"{root_of(name=self.name)}:{stream}", min=self.cursors[stream], count=count)
        if page:
            self.cursors[stream] = f"({page[-1][0].decode()}"
        return [text for _, fields in page for text in fields.values()]

    def _take(self, changed: bytes, told: bytes) -> None:
        number, _, deltas = changed.split(b"\n")
        same_number, at, events = told.split(b"\n")
        version = int(number)
        assert number == same_number
        assert version == self.replica.version + 1, "the deltas were trimmed before they were read"
        rows = whole_servers(servers=self.replica.servers, deltas=json.loads(deltas))
        self.replica.apply(version=version, deltas=rows)
        snapshot = self.replica.snapshot(now=float(at))
        self.most_of_key = max(self.most_of_key, *snapshot.key_tickets.values(), 0)
        held = (ticket for server in snapshot.servers.values() if server.resource_group for ticket in server.tickets)
        self.most_of_group = max(self.most_of_group, places_taken(held))
        found = check(snapshot)
        self.violations.extend((version, violation) for violation in found)
        for event in read_events(events):
            self._note(event)

    def _note(self, event: dict[str, Any]) -> None:
        kind, call = event["type"], event.get("call", "")
        self.counts[kind] += 1
        if kind == "enqueued":
            self.enqueued[call] = event["crew"]
            self.endings[call] = []
        elif kind in ENDINGS and call in self.enqueued:
            is_over = kind != "lapsed" or event.get("reason") is None
            if is_over:
                self.endings[call].append(kind)

    def lost(self) -> list[str]:
        """Name the waiters whose wait did not end exactly once."""
        return [call for call, ends in self.endings.items() if len(ends) != 1]

    def lapsed_of_the_living(self, *, killed: set[str]) -> list[str]:
        """Name the waiters that lapsed although their process asked for them."""
        return [call for call, ends in self.endings.items() if "lapsed" in ends and self.enqueued[call] not in killed]
