"""Who needs which model, kept up to date; a snapshot's demand works out of it only what it is asked for.

House rules: what a snapshot was given never changes, so a book copies what it changes, model by model.
"""

from collections.abc import Iterator, Mapping

from scheduler.core.ledger import Intent, Use
from scheduler.core.types import Demand, Waiter, intent_key

Owners = dict[str, float]
"""Who, and since when."""


def decayed(*, use: Use, now: float, half_life_s: float) -> float:
    """Work out what is left of a count that halves every half-life."""
    return use.count * float(0.5 ** (max(now - use.at, 0.0) / half_life_s))


class DemandBook:
    """The waiters and intents of a replica by the models they are about, beside the counts of uses and selections."""

    def __init__(self, *, uses: Mapping[str, Use], selected: Mapping[str, Use]) -> None:
        self._uses, self._selected = uses, selected
        self._shown_counts: tuple[Mapping[str, Use], Mapping[str, Use]] | None = None
        self._waiting, self._intents = _ByModel(), _ByModel()

    def clear(self) -> None:
        """Forget who needs what."""
        self._waiting, self._intents, self._shown_counts = _ByModel(), _ByModel(), None

    def waiter_moved(self, *, before: Waiter | None, after: Waiter | None) -> None:
        """Take in what became of a waiter."""
        if before is not None and before.needs_model:
            self._waiting.drop(model=before.model, owner=before.id)
        if after is not None and after.needs_model:
            self._waiting.add(model=after.model, owner=after.id, at=after.arrived_at)

    def intent_moved(self, *, before: Intent | None, after: Intent | None) -> None:
        """Take in what became of an intent."""
        if before is not None:
            for model in dict.fromkeys(before.models):
                self._intents.drop(model=model, owner=_owner(before))
        if after is not None:
            for model in dict.fromkeys(after.models):
                self._intents.add(model=model, owner=_owner(after), at=after.at)

    def counts_moved(self) -> None:
        """Take in that something was used or selected."""
        self._shown_counts = None

    def at(self, *, now: float, intent_limit_s: float, half_life_s: float) -> "LiveDemand":
        """Show the demand of a moment."""
        if self._shown_counts is None:
            self._shown_counts = dict(self._uses), dict(self._selected)
        uses, selected = self._shown_counts
        return LiveDemand(
            waiting=self._waiting.show(),
            intents=self._intents.show(),
            uses=uses,
            selected=selected,
            intent_limit_s=intent_limit_s,
            now=now,
            half_life_s=half_life_s,
        )


class LiveDemand(Mapping[str, Demand]):
    """The demand at one moment, each model's made when it is first asked for."""

    def __init__(
        self,
        *,
        waiting: Mapping[str, Owners],
        intents: Mapping[str, Owners],
        uses: Mapping[str, Use],
        selected: Mapping[str, Use],
        intent_limit_s: float,
        now: float,
        half_life_s: float,
    ) -> None:
        self._waiting, self._intents, self._uses, self._selected = waiting, intents, uses, selected
        self._intent_limit_s, self._now, self._half_life_s = intent_limit_s, now, half_life_s
        self._made: dict[str, Demand | None] = {}

    def __getitem__(self, model: str) -> Demand:
        if model not in self._made:
            self._made[model] = self._make(model)
        demand = self._made[model]
        if demand is None:
            raise KeyError(model)
        return demand

    def get(self, model: str, default: Demand | None = None) -> Demand | None:  # type: ignore[override]
        """Look up a model's demand; without the exception, of which there would be many."""
        if model not in self._made:
            self._made[model] = self._make(model)
        return self._made[model] or default

    def __iter__(self) -> Iterator[str]:
        models = dict.fromkeys((*self._waiting, *self._intents, *self._uses, *self._selected))
        return (model for model in models if self.get(model) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _make(self, model: str) -> Demand | None:
        """Gather who needs a model; `predicted` counts how often agents that name it are selected."""
        use, selected = self._uses.get(model), self._selected.get(model)
        waiting = self._waiting.get(model, {})
        intents = self._intents.get(model, {})
        if intents:
            intents = {key: at for key, at in intents.items() if self._now - at < self._intent_limit_s}
        if use is None and selected is None and not waiting and not intents:
            return None
        return Demand(
            waiting=waiting,
            intents=intents,
            use=self._count(use),
            predicted=self._count(selected),
            last_used=None if use is None else use.at,
        )

    def _count(self, use: Use | None) -> float:
        if use is None or use.count <= 0:
            return 0.0
        return decayed(use=use, now=self._now, half_life_s=self._half_life_s)


class ChangedDemand(Mapping[str, Demand]):
    """A demand with some models' changed, as what-if copies of a snapshot have it."""

    def __init__(self, *, base: Mapping[str, Demand], changed: Mapping[str, Demand]) -> None:
        self._base: Mapping[str, Demand] = base._base if isinstance(base, ChangedDemand) else base
        before = base._changed if isinstance(base, ChangedDemand) else {}
        self._changed: Mapping[str, Demand] = {**before, **changed}

    def __getitem__(self, model: str) -> Demand:
        found = self._changed.get(model)
        return self._base[model] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._base, *self._changed)))

    def __len__(self) -> int:
        return len(self._base.keys() | self._changed.keys())


class _ByModel:
    """Owners by model. What was shown once is copied before it is changed."""

    def __init__(self) -> None:
        self._owners: dict[str, Owners] = {}
        self._shown: dict[str, Owners] | None = None
        self._own: set[str] = set()

    def show(self) -> Mapping[str, Owners]:
        """Show all there is."""
        if self._shown is None:
            self._shown, self._own = dict(self._owners), set()
        return self._shown

    def add(self, *, model: str, owner: str, at: float) -> None:
        """Add an owner."""
        self._changing(model)[owner] = at

    def drop(self, *, model: str, owner: str) -> None:
        """Take an owner away."""
        owners = self._changing(model)
        del owners[owner]
        if not owners:
            del self._owners[model]
            self._own.discard(model)

    def _changing(self, model: str) -> Owners:
        self._shown = None
        if model not in self._own:
            self._own.add(model)
            self._owners[model] = dict(self._owners.get(model, {}))
        return self._owners[model]


def _owner(intent: Intent) -> str:
    return intent_key(agent=intent.agent, thread=intent.thread)
