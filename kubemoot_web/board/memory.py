"""A server's memory as a bar: what models hold, what loads will take, what is free, what is kept for the system."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kubemoot_web.board.marks import Mark, Palette
from scheduler.core import messages
from scheduler.core.snapshot import ClusterSnapshot, Server

WHOLE = 100
"""The bar's own unit: hundredths of its length, for which the stylesheet has a class each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of the bar, `share` hundredths. `kind` is held, loading, free or system; only models have a mark."""

    kind: str
    label: str
    size: str
    share: int
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The bar with what is said beside it. Without a known total there are no segments, only what is known; of a server
    that has nothing more to load neither total nor sizes are asked for.
    """

    summary: str
    free: str
    percent: int | None
    segments: tuple[Segment, ...]
    is_over: bool
    is_unsure: bool
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    kind: str
    label: str
    mib: int
    mark: Mark | None = None


def memory_of(*, snapshot: ClusterSnapshot, server: Server, palette: Palette) -> Memory:
    """Draw a server's memory. The pieces never sum up to more than the bar, nor to less than the server has."""
    sizes = {
        m: snapshot.footprint(server=server, model=m)
        for m in (*(r.model for r in server.warm_copies), *server.loading, *server.lost)
    }
    unknown = tuple(model for model, mib in sizes.items() if mib is None)
    pieces = [
        _Piece(kind="held" if model in server.warm else "loading", label=model, mib=mib, mark=palette.mark(model))
        for model, mib in sizes.items()
        if mib is not None
    ]
    held = sum(piece.mib for piece in pieces)
    if _is_all_there(server) and (unknown or server.usable_mib is None):
        return Memory(
            summary=messages.all_in_memory(),
            free="",
            percent=None,
            segments=(),
            is_over=False,
            is_unsure=False,
            problem="",
        )
    if server.total_mib is None or server.usable_mib is None:
        return Memory(
            summary=f"{messages.size(held)} held by models",
            free=messages.memory_free(free_mib=None),
            percent=None,
            segments=(),
            is_over=False,
            is_unsure=bool(unknown),
            problem=messages.memory_unknown(),
        )
    is_over = held > server.usable_mib
    free = max(server.usable_mib - held, 0)
    system = max(server.total_mib - max(held, server.usable_mib), 0)
    pieces.append(_Piece(kind="free", label="size not known" if unknown else "free", mib=free))
    pieces.append(_Piece(kind="system", label="system", mib=system))
    return Memory(
        summary=messages.memory_in_use(held_mib=held, total_mib=server.total_mib),
        free=messages.memory_free(free_mib=None if unknown else free),
        percent=min(100, round(100 * held / server.total_mib)) if server.total_mib else 100,
        segments=_laid_out([piece for piece in pieces if piece.mib > 0]),
        is_over=is_over,
        is_unsure=bool(unknown),
        problem=_problem(held=held, usable=server.usable_mib, unknown=unknown),
    )


def shares(sizes: Sequence[float]) -> tuple[int, ...]:
    """Divide a bar into whole hundredths: none is nothing, and all together are the bar.

    With more pieces than hundredths the last ones are nothing after all.
    """
    whole, edges = sum(sizes), [0]
    for place, _ in enumerate(sizes, start=1):
        least, most = edges[-1] + 1, WHOLE - (len(sizes) - place)
        edges.append(min(WHOLE, max(least, min(most, round(WHOLE * sum(sizes[:place]) / whole)))))
    return tuple(after - before for before, after in pairwise(edges))


def _is_all_there(server: Server) -> bool:
    """Say whether there is nothing more to load here, so that its memory decides nothing."""
    return not server.can_load or (server.models is not None and server.warm.keys() >= server.models > frozenset())


def _laid_out(pieces: Sequence[_Piece]) -> tuple[Segment, ...]:
    return tuple(
        Segment(kind=piece.kind, label=piece.label, size=messages.size(piece.mib), share=share, mark=piece.mark)
        for piece, share in zip(pieces, shares([piece.mib for piece in pieces]), strict=True)
    )


def _problem(*, held: int, usable: int, unknown: tuple[str, ...]) -> str:
    if held > usable:
        return messages.over_committed(held_mib=held, usable_mib=usable)
    return messages.size_unknown(models=unknown) if unknown else ""
