"""The newest HTML of every piece of the board, numbered, so that any reader can ask for what is newer than it has.

House rules: only the newest version of a piece is kept, so a reader owns nothing but a number; however far behind it
is, the next thing it gets is the truth, and it never holds up anybody else.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kubemoot_web.board.picture import Picture
from kubemoot_web.live.fragments import CARD, PULSE, SERVERS, Piece, pieces_of


@dataclass(slots=True)
class _Kept:
    piece: Piece
    serial: int
    html: str | None = None


class Shelf:
    """Keeps the pieces of the last picture."""

    def __init__(self) -> None:
        self.serial = 0
        self._kept: dict[str, _Kept] = {}

    def put(self, picture: Picture, *, with_pulse: bool) -> None:
        """Take in a picture; what looks different gets the next number. The pulse, its time, beats when asked to."""
        pieces = {piece.id: piece for piece in pieces_of(picture)}
        changed = [piece for key, piece in pieces.items() if not self._has(piece) and (with_pulse or key != PULSE)]
        for key in [key for key in self._kept if key not in pieces]:
            del self._kept[key]
        if changed:
            self.serial += 1
        for piece in changed:
            self._kept[piece.id] = _Kept(piece=piece, serial=self.serial)

    def newer_than(self, serial: int) -> str:
        """Give the HTML of every piece that is newer: all of them after 0."""
        return "\n".join(self._html(kept) for kept in self._newer(serial))

    def _newer(self, serial: int) -> Iterable[_Kept]:
        """Leave single cards out where their container is sent: it holds them all."""
        has_all = SERVERS in self._kept and self._kept[SERVERS].serial > serial
        return [
            kept for key, kept in self._kept.items() if kept.serial > serial and not (has_all and key.startswith(CARD))
        ]

    def _has(self, piece: Piece) -> bool:
        kept = self._kept.get(piece.id)
        if kept is None or kept.piece.shows != piece.shows:
            return False
        if piece.id == SERVERS:
            kept.piece, kept.html = piece, None  # the same servers, but their cards may have changed
        return True

    def _html(self, kept: _Kept) -> str:
        if kept.html is None:
            kept.html = kept.piece.html()
        return kept.html
