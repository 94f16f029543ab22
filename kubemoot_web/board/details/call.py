"""One call: its parts on a bar, its decision with the options, and, while it waits, where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kubemoot_web.board.choices import TONES, Choice, Weighed, choices_of, weighed_of
from kubemoot_web.board.details.attempts import AttemptRow, attempt_rows_of
from kubemoot_web.board.details.parts import GOING_ON, Part, lengths_of, parts_of
from kubemoot_web.board.details.waiting import Helped, helped_of
from kubemoot_web.board.line import waiting_row
from kubemoot_web.board.marks import Mark, palette_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.attempt_history import AttemptRecord, attempt_id
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import code_of
from scheduler.core.messages.attempts import OUTCOMES, key_of_call
from scheduler.core.messages.history import call_bar, not_written_yet, nothing_weighed, weighed_at_selection
from scheduler.core.replica import Replica
from scheduler.core.standing import standing_of
from scheduler.core.types import Ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something there is to know, as a pair of words."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSheet:
    """Everything about one call. `waits` while it waits; `news` where history has not got it yet.

    `weighed` is what to know of its options: when they were weighed, if not for the call itself, or why there are none.
    """

    call: str
    agent: str
    crew: str
    mark: Mark | None
    server: str
    tone: str
    choice: Choice
    is_going_on: bool
    parts: tuple[Part, ...]
    whole: str
    bar: str
    times: tuple[tuple[str, Moment | None], ...]
    facts: tuple[Fact, ...]
    evicted: tuple[Mark, ...]
    options: tuple[Weighed, ...]
    weighed: str
    attempts: tuple[AttemptRow, ...]
    waits: Helped | None
    news: str


def call_sheet_of(
    *,
    call: CallRecord | None,
    attempts: Sequence[AttemptRecord],
    keys: Mapping[str, str],
    id: str,
    replica: Replica,
    config: SchedulerConfig,
    now: float,
) -> CallSheet | None:
    """Show a call that history knows, or that has just come in and stands in the ledger alone; None for any other."""
    known = call or _from_ledger(id=id, replica=replica)
    if known is None:
        return None
    palette = palette_of(replica)
    lengths = lengths_of(call=known, now=now)
    options = weighed_of(known.decision)
    (choice,) = choices_of(calls=[known], palette=palette)
    return CallSheet(
        call=known.id,
        agent=known.agent,
        crew=known.crew,
        mark=palette.mark(known.model) if known.model else None,
        server=known.server,
        tone=TONES[known.state],
        choice=choice,
        is_going_on=known.state in GOING_ON,
        parts=parts_of(call=known, now=now),
        whole=messages.seconds(sum(lengths.values())),
        bar=call_bar(parts=tuple(lengths.items())),
        times=_times(known),
        facts=_facts(known, keys),
        evicted=tuple(palette.mark(model) for model in known.evicted),
        options=options,
        weighed=_weighed(known),
        attempts=attempt_rows_of(attempts=attempts),
        waits=_waits(id=attempt_id(call=known.id, number=known.attempts), replica=replica, config=config, now=now),
        news="" if call is not None else not_written_yet(),
    )


def _from_ledger(*, id: str, replica: Replica) -> CallRecord | None:
    waiter = replica.waiters.get(id)
    ticket = next((ticket for ticket in replica.tickets.values() if ticket.call == id), None)
    if waiter is None and ticket is None:
        return None
    if ticket is not None:
        return CallRecord(
            id=id,
            agent=ticket.agent,
            state=_state_of(ticket),
            arrived_at=ticket.arrived_at,
            crew=ticket.crew,
            model=ticket.model,
            server=ticket.server,
            action=ticket.action,
            granted_at=ticket.granted_at or None,
            started_at=ticket.started_at if ticket.waiter is None else None,
        )
    assert waiter is not None
    return CallRecord(
        id=id,
        agent=waiter.agent,
        state=CallState.WAITING,
        arrived_at=waiter.arrived_at,
        crew=waiter.crew,
        model=waiter.model,
        server=waiter.server or "",
        action=waiter.action if waiter.model else "",
    )


def _state_of(ticket: Ticket) -> CallState:
    if ticket.left_at is not None:
        return CallState.LEFT
    return CallState.RUNNING if ticket.waiter is None else CallState.LOADING


def _weighed(call: CallRecord) -> str:
    if call.decision is None:
        return ""
    if "plannedAt" in call.decision:
        return weighed_at_selection()
    return "" if call.decision.get("options") else nothing_weighed()


def _times(call: CallRecord) -> tuple[tuple[str, Moment | None], ...]:
    times = (
        ("was selected", (call.decision or {}).get("plannedAt")),
        ("came in", call.arrived_at),
        ("got its place", call.granted_at),
        ("began to run", call.started_at),
        ("first byte", call.first_byte_at),
        ("ended", call.finished_at),
    )
    return tuple((name, moment(at)) for name, at in times if at is not None)


def _facts(call: CallRecord, keys: Mapping[str, str]) -> tuple[Fact, ...]:
    facts = {
        "priority": call.priority,
        "phase": call.phase,
        "purpose": call.purpose,
        "thread": call.thread,
        "key": key_of_call(prefix=call.key, name=keys.get(call.key, "")),
        "how it ended": "" if call.outcome is None else OUTCOMES[call.outcome],
        "prompt tokens": "" if call.prompt_tokens is None else f"{call.prompt_tokens:,}",
        "completion tokens": "" if call.completion_tokens is None else f"{call.completion_tokens:,}",
        "reason": code_of(reason=call.reason),
    }
    return tuple(Fact(name=name, value=value) for name, value in facts.items() if value)


def _waits(*, id: str, replica: Replica, config: SchedulerConfig, now: float) -> Helped | None:
    waiter = replica.waiters.get(id)
    if waiter is None or waiter.stood_aside is not None:
        return None
    snapshot = replica.snapshot(now=now)
    standing = standing_of(
        snapshot=snapshot,
        waiters=replica.waiters.values(),
        waiter=waiter,
        config=config,
        is_weighted=bool(replica.weights),
    )
    row = waiting_row(replica=replica, snapshot=snapshot, standing=standing, config=config, palette=palette_of(replica))
    return helped_of(snapshot=snapshot, standing=standing, row=replace(row, id=""), rooms={}, before=())
