"""What happened at a simulated engine, in order, so that a test can prove what was and was not done to it."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

MAX_EVENTS = 20_000


@dataclass(slots=True, kw_only=True)
class Journal:
    """The events and counters of one engine. `in_flight` counts calls that arrived and did not end, queued ones too.

    `not_loaded` counts calls for a model that was not in memory, at an engine that does not load by itself.
    """

    events: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    in_flight: Counter[str] = field(default_factory=Counter)
    max_in_flight: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    self_evictions: int = 0
    reloads: int = 0
    not_loaded: int = 0

    def note(self, event: str, *, at: float, model: str, **facts: Any) -> None:
        """Write down one event."""
        self.events.append({"at": round(at, 4), "event": event, "model": model, **facts})

    def call_started(self, *, at: float, model: str, path: str, num_ctx: int | None) -> None:
        """Count a call that arrived, with the context that it asked for."""
        self.calls += 1
        self.in_flight[model] += 1
        self.max_in_flight[model] = max(self.max_in_flight[model], self.in_flight[model])
        self.note("call_start", at=at, model=model, path=path, numCtx=num_ctx, inFlight=self.in_flight[model])

    def call_ended(self, *, at: float, model: str, how: str, tokens: int) -> None:
        """Count a call that ended: done, aborted, refused or failed, and the tokens that were written for it."""
        self.in_flight[model] -= 1
        self.tokens[model] += tokens
        self.note("call_end", at=at, model=model, how=how, tokens=tokens)

    def shown(self) -> dict[str, Any]:
        """Give everything as JSON."""
        return {
            "events": list(self.events),
            "inFlight": {model: count for model, count in self.in_flight.items() if count},
            "maxInFlight": dict(self.max_in_flight),
            "requests": dict(self.requests),
            "tokens": dict(self.tokens),
            "selfEvictions": self.self_evictions,
            "reloads": self.reloads,
            "notLoaded": self.not_loaded,
        }
