"""The board in pieces: one HTML fragment per thing that changes by itself, the same that the page is made of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string

from kubemoot_web.board.picture import Picture

SERVERS = "servers"
"""The fragment that holds every card: sent when a server comes or goes, in place of single cards."""
CARD = "server-"
"""What the ids of cards begin with."""
PULSE = "pulse"
"""The fragment that says from when the picture is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the board: its element id, what it shows, the template that shows it. Equal `shows`, equal HTML."""

    id: str
    shows: Any
    template: str
    context: Mapping[str, Any]

    def html(self) -> str:
        """Render it."""
        return render_to_string(self.template, dict(self.context)).strip()


def pieces_of(picture: Picture) -> Iterator[Piece]:
    """Take a picture apart. The order is that of the page."""
    whole = {"picture": picture}
    yield Piece(id="board-problem", shows=picture.problem, template="board/_problem.html", context=whole)
    yield Piece(id="summary", shows=picture.summary, template="board/_summary.html", context=whole)
    yield Piece(id="ahead", shows=picture.ahead, template="board/_ahead.html", context=whole)
    names = tuple(card.name for card in picture.cards)
    yield Piece(id=SERVERS, shows=names, template="board/_servers.html", context=whole)
    for card in picture.cards:
        yield Piece(id=card.id, shows=card, template="board/_server.html", context={"card": card})
    yield Piece(id="waiting-count", shows=picture.line.says, template="board/_count.html", context=whole)
    yield Piece(id="line", shows=picture.line, template="board/_line.html", context=whole)
    yield Piece(id="decisions", shows=picture.choices, template="board/_choices.html", context=whole)
    yield Piece(id=PULSE, shows=picture.at, template="board/_pulse.html", context=whole)
