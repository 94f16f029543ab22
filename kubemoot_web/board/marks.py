"""Every model wears one colour everywhere on a page, so that the eye finds who wants what.

A colour is a number, the stylesheet knows the rest. It means nothing without the name, which always stands beside it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

from scheduler.core.replica import Replica

COLOURS = 8
"""How many colours there are. With more models than that, some share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A model's name with its colour."""

    name: str
    colour: int


class Palette:
    """Gives each model the colour that its name suggests, or the next one that nobody has."""

    def __init__(self, models: Iterable[str]) -> None:
        self._colours = _assigned(sorted(set(models)))

    def mark(self, model: str) -> Mark:
        """Give a model with its colour; one that came later wears what its name suggests."""
        return Mark(name=model, colour=self._colours.get(model, _suggested(model)))


def palette_of(replica: Replica) -> Palette:
    """Make the palette of everything that the ledger has heard of."""
    residents = (resident.model for record in replica.servers.values() for resident in record.seen.residents)
    waited = (candidate.model for waiter in replica.waiters.values() for candidate in waiter.candidates)
    return Palette((*replica.footprints, *residents, *waited))


def _assigned(models: list[str]) -> Mapping[str, int]:
    colours: dict[str, int] = {}
    for model in models:
        taken = set(colours.values())
        wanted = [(_suggested(model) + step) % COLOURS for step in range(COLOURS)]
        colours[model] = next((colour for colour in wanted if colour not in taken), wanted[0])
    return colours


def _suggested(model: str) -> int:
    return crc32(model.encode()) % COLOURS
