"""Replays the journal, version by version, and checks after each that no rule is broken and no caller is lost."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from redis import Redis

from scheduler.core.invariants import Violation, check
from scheduler.core.replica import Replica
from scheduler.core.server_parts import whole_servers
from scheduler.stores.journal import read_events
from scheduler.stores.layout import root_of
from tests.race.fleet import CONFIG

ENDINGS = ("delivered", "given_up", "stood_aside", "lapsed")


@dataclass(kw_only=True)
class Referee:
    """Follows a ledger's journal from its first version."""

    client: "Redis"
    name: str
    replica: Replica = field(default_factory=lambda: Replica(config=CONFIG))
    violations: list[tuple[int, Violation]] = field(default_factory=list)
    enqueued: dict[str, str] = field(default_factory=dict)
    endings: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    most_of_key: int = 0
    cursor: str = "-"

    def read_on(self) -> None:
        """Check everything that was committed since the last time."""
        while page := self._page():
            for entry_id, fields in page:
                self._take(fields[b"j"])
                self.cursor = f"({entry_id.decode()}"

    def _page(self) -> Any:
        return self.client.xrange(f"{root_of(name=self.name)}:journal", min=self.cursor, count=500)

    def _take(self, text: bytes) -> None:
        number, _, at, deltas, events = text.split(b"\n")
        version = int(number)
        assert version == self.replica.version + 1, "the journal was trimmed before it was read"
        rows = whole_servers(servers=self.replica.servers, deltas=json.loads(deltas))
        self.replica.apply(version=version, deltas=rows)
        snapshot = self.replica.snapshot(now=float(at))
        self.most_of_key = max(self.most_of_key, *snapshot.key_tickets.values(), 0)
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
