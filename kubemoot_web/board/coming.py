"""What happens next: the loads that end, the slots that free, the servers that are emptied, soonest first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kubemoot_web.board.line import Line, Waiting
from kubemoot_web.board.marks import Mark, Palette
from kubemoot_web.board.times import Moment, to_the_second
from scheduler.core import messages
from scheduler.core.placement.estimates import remaining_seconds, rest_of_load
from scheduler.core.snapshot import ClusterSnapshot, Server

SHOWN = 4
"""How many events are told. Beyond these, estimates are guesses about guesses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """Something that is about to happen. `kind` is load, slot, room or end."""

    kind: str
    at: Moment | None
    mark: Mark
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What is to be expected, soonest first; `quiet` is said where nothing is."""

    events: tuple[Coming, ...]
    quiet: str


def ahead_of(*, snapshot: ClusterSnapshot, line: Line, palette: Palette) -> Ahead:
    """Tell what happens next: what waiters wait for first of all; with nobody waiting, which calls should end."""
    found = [*_loads(snapshot, palette), *_moves(line.rows)]
    if not found:
        found = list(_ends(snapshot, palette))
    found.sort(key=lambda event: event.at.iso if event.at else "")
    quiet = "" if found else messages.nothing_ahead(servers=len(snapshot.servers), waiting=line.count)
    return Ahead(events=tuple(found[:SHOWN]), quiet=quiet)


def _loads(snapshot: ClusterSnapshot, palette: Palette) -> Iterator[Coming]:
    for server in snapshot.servers.values():
        for load in server.loads:
            rest_s = rest_of_load(snapshot=snapshot, server=server, model=load.model)
            agents = [ticket.agent for ticket in server.tickets_of.get(load.model, ())]
            yield Coming(
                kind="load",
                at=to_the_second(snapshot.now + rest_s),
                mark=palette.mark(load.model),
                sentence=messages.load_ends(model=load.model, server=server.name, agents=agents),
            )


def _moves(rows: Iterable[Waiting]) -> Iterator[Coming]:
    """Tell of each waiter with an estimate when it goes on; those whose model is loading are told with the load."""
    told: set[str] = set()
    for row in rows:
        if not row.turn or row.expected is None or row.mark is None or row.sentence in told:
            continue
        told.add(row.sentence)  # who waits for the same thing moves after it
        yield Coming(
            kind="room" if row.server == "" else "slot",
            at=row.expected,
            mark=row.mark,
            sentence=messages.waiter_moves(agent=row.agent, model=row.mark.name, server=row.server),
        )


def _ends(snapshot: ClusterSnapshot, palette: Palette) -> Iterator[Coming]:
    for server in snapshot.servers.values():
        if server.call_s is not None:
            yield from _ends_on(snapshot, server, palette)


def _ends_on(snapshot: ClusterSnapshot, server: Server, palette: Palette) -> Iterator[Coming]:
    for ticket in server.tickets:
        rest_s = remaining_seconds(snapshot=snapshot, server=server, ticket=ticket)
        yield Coming(
            kind="end",
            at=to_the_second(snapshot.now + rest_s),
            mark=palette.mark(ticket.model),
            sentence=messages.call_ends(agent=ticket.agent, model=ticket.model, server=server.name),
        )
