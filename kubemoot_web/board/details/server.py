"""One server: its card, its day, what it refused and why, its last calls."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.board.cards import Card, card_of
from kubemoot_web.board.details.call import Fact
from kubemoot_web.board.details.call_rows import CallRow, rows_of
from kubemoot_web.board.details.day import Day, Flights, day_of, window_of
from kubemoot_web.board.marks import palette_of
from kubemoot_web.board.times import Moment, moment
from providers.core.types import TITLES, EngineKind
from scheduler.core import messages
from scheduler.core.call_history import CallRecord
from scheduler.core.group_flight import GroupFlight, group_flights
from scheduler.core.ledger import ServerRecord
from scheduler.core.messages.endpoints import group_limit
from scheduler.core.messages.history import model_rests, nothing_refused, server_event
from scheduler.core.messages.rooms import refused_here, room_sentence
from scheduler.core.replica import Replica
from scheduler.core.rooms import POSSIBLE, room_on
from scheduler.core.server_history import ServerEventKind, ServerEventRecord
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import Candidate

DAY_S = 86400
TOLD = 12
"""How many of the last events are told."""
FEW = 8
"""How many refusals are told."""
FAILURES = frozenset({ServerEventKind.LOAD_FAILED, ServerEventKind.CIRCUIT_OPENED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What history knows of a server's last day: events oldest first, calls newest first, with their keys' names."""

    events: Sequence[ServerEventRecord]
    flights: Flights
    calls: Sequence[CallRecord]
    keys: Mapping[str, str]
    stood_aside: Sequence[CallRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something that happened: when, and in a sentence. `until` where it holds until then; `tone` how it is meant."""

    at: Moment | None
    says: str
    tone: str = ""
    until: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSheet:
    """Everything about one server."""

    name: str
    card: Card
    facts: tuple[Fact, ...]
    day: Day
    events: tuple[Told, ...]
    refusals: tuple[Told, ...]
    unrefused: str
    calls: tuple[CallRow, ...]


def first_known_at(
    *, past_events: Sequence[ServerEventRecord], calls: Sequence[CallRecord], now: float
) -> float | None:
    """Find when the known part of a server's last day begins."""
    times = [*(event.at for event in past_events), *(call.arrived_at for call in calls)]
    return min((max(at, now - DAY_S) for at in times), default=None)


def server_sheet_of(*, replica: Replica, name: str, past: Past, span: str, now: float) -> ServerSheet:
    """Show a registered server."""
    snapshot = replica.snapshot(now=now)
    server, record = snapshot.servers[name], replica.servers[name]
    palette = palette_of(replica)
    first_at = first_known_at(past_events=past.events, calls=past.calls, now=now)
    refusals = tuple(_refusals(snapshot=snapshot, server=server, record=record, past=past, now=now))[:FEW]
    return ServerSheet(
        name=name,
        card=card_of(snapshot=snapshot, server=server, record=record, palette=palette),
        facts=_facts(server=server, record=record, group=group_flights(snapshot).get(name)),
        day=day_of(
            window=window_of(span=span, first_at=first_at, now=now),
            events=past.events,
            flights=past.flights,
            total_mib=server.total_mib,
            usable_mib=server.usable_mib,
            palette=palette,
        ),
        events=tuple(_told(past.events))[: -TOLD - 1 : -1],
        refusals=refusals,
        unrefused="" if refusals else nothing_refused(),
        calls=rows_of(calls=past.calls, keys=past.keys, palette=palette, now=now),
    )


def _told(events: Sequence[ServerEventRecord]) -> Iterator[Told]:
    """Tell events, oldest first; of probes those that found the server in another state."""
    phase = ""
    for event in events:
        if event.kind is ServerEventKind.PROBED:
            if event.phase == phase:
                continue
            phase = event.phase
        yield Told(at=moment(event.at), says=server_event(event=event), tone=_tone(event))


def _tone(event: ServerEventRecord) -> str:
    if event.kind in FAILURES or event.is_ready is False:
        return "bad"
    return "busy" if event.kind is ServerEventKind.LOAD_STARTED else ""


def _facts(*, server: Server, record: ServerRecord, group: GroupFlight | None) -> tuple[Fact, ...]:
    config, learned = record.config, record.learned
    facts = {
        "engine": " ".join(part for part in (TITLES[EngineKind(config.kind)], record.seen.version) if part),
        "address": config.endpoint,
        "memory": "" if server.total_mib is None else messages.size(server.total_mib),
        "for models": "" if server.usable_mib is None else messages.size(server.usable_mib),
        "slots for each model": str(server.slots),
        "calls at once": "" if server.max_concurrent is None else f"{server.max_concurrent} at most",
        "kept for people": f"{server.interactive_reserve} of them" if server.interactive_reserve else "",
        "calls together": "" if group is None else group_limit(group=group, server=server.name),
        "key": "" if config.secret is None else f"the secret {config.secret}",
        "when a client leaves": "" if config.aborts_on_disconnect else "its engine works on",
        "when a call ends in doubt": "it is taken out" if config.quarantine_on_ambiguous else "",
        "a call takes": "" if learned.call_s is None else messages.seconds(learned.call_s),
        "loads at": "" if learned.load_mib_per_s is None else f"{messages.size(round(learned.load_mib_per_s))}/s",
        "on disk": "" if record.seen.models is None else _counted(len(record.seen.models)),
    }
    return tuple(Fact(name=name, value=value) for name, value in facts.items() if value)


def _counted(count: int) -> str:
    return f"{count} model{'' if count == 1 else 's'}"


def _refusals(
    *, snapshot: ClusterSnapshot, server: Server, record: ServerRecord, past: Past, now: float
) -> Iterator[Told]:
    """Tell which loads rest, which calls stood aside for models this server has no room for, which loads failed."""
    until = record.learned.blocked_until
    for model in sorted(server.blocked):
        says = model_rests(model=model, problem=record.learned.load_problem)
        yield Told(at=None, says=says, tone="warn", until=moment(until[model]))
    yield from _turned_away(snapshot=snapshot, server=server, calls=past.stood_aside)
    for event in reversed(past.events):
        if event.kind is ServerEventKind.LOAD_FAILED and event.at >= now - DAY_S:
            yield Told(at=moment(event.at), says=server_event(event=event), tone="bad")


def _turned_away(*, snapshot: ClusterSnapshot, server: Server, calls: Sequence[CallRecord]) -> Iterator[Told]:
    counts = Counter(call.model for call in calls if call.model)
    latest = {call.model: call.finished_at or call.arrived_at for call in reversed(calls)}
    for model, count in counts.items():
        room = room_on(snapshot=snapshot, server=server, candidate=Candidate(model=model, score=0))
        if room.kind not in POSSIBLE or room.lacks_mib:
            sentence = room_sentence(room=room, model=model)
            yield Told(at=moment(latest[model]), says=refused_here(model=model, count=count, sentence=sentence))
