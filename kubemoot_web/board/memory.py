"""A server's memory as a bar: what models hold, what loads will take, what is free, what is kept for the system."""

from dataclasses import dataclass

from scheduler.core import messages
from scheduler.core.snapshot import ClusterSnapshot, Server

WIDTH = 1000
"""The bar's own unit: a server's whole memory."""
SHADES = 4
"""How many shades neighbouring models take in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of the bar. `kind` is held, loading, free or system; `shade` tells neighbouring models apart."""

    kind: str
    label: str
    size: str
    x: float
    width: float
    shade: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The bar with what is said beside it. Without a known total there are no segments, only what is known."""

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
    shade: int = 0


def memory_of(*, snapshot: ClusterSnapshot, server: Server) -> Memory:
    """Draw a server's memory. The pieces never sum up to more than the bar, nor to less than the server has."""
    sizes = {
        m: snapshot.footprint(server=server, model=m)
        for m in (*(r.model for r in server.warm_copies), *server.loading, *server.lost)
    }
    unknown = tuple(model for model, mib in sizes.items() if mib is None)
    pieces = [
        _Piece(kind="held" if model in server.warm else "loading", label=model, mib=mib, shade=place % SHADES)
        for place, (model, mib) in enumerate(sizes.items())
        if mib is not None
    ]
    held = sum(piece.mib for piece in pieces)
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
    pieces.append(_Piece(kind="system", label="kept for the system", mib=system))
    return Memory(
        summary=messages.memory_in_use(held_mib=held, total_mib=server.total_mib),
        free=messages.memory_free(free_mib=None if unknown else free),
        percent=min(100, round(100 * held / server.total_mib)) if server.total_mib else 100,
        segments=_laid_out(pieces, whole=max(server.total_mib, held, 1)),
        is_over=is_over,
        is_unsure=bool(unknown),
        problem=_problem(held=held, usable=server.usable_mib, unknown=unknown),
    )


def _laid_out(pieces: list[_Piece], *, whole: int) -> tuple[Segment, ...]:
    segments, x = [], 0.0
    for piece in pieces:
        width = WIDTH * piece.mib / whole
        if piece.mib > 0:
            segments.append(
                Segment(
                    kind=piece.kind,
                    label=piece.label,
                    size=messages.size(piece.mib),
                    x=round(x, 2),
                    width=round(width, 2),
                    shade=piece.shade,
                )
            )
        x += width
    return tuple(segments)


def _problem(*, held: int, usable: int, unknown: tuple[str, ...]) -> str:
    if held > usable:
        return messages.over_committed(held_mib=held, usable_mib=usable)
    return messages.size_unknown(models=unknown) if unknown else ""
