"""Endpoints: how full each is, who waits for it and why, what its last hour was like, what an operator may do."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.board.condition import Condition, condition_of
from kubemoot_web.board.endpoints import queue_in_order
from kubemoot_web.board.gauge import Gauge, gauge_of
from kubemoot_web.board.ids import dom_id, natural
from kubemoot_web.board.line import Waiting, waiting_row
from kubemoot_web.board.marks import palette_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.admission.local import LocalState
from scheduler.core.admission.queue import InQueue, queues_of
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.attempt_summary import ServerSummary, changes_of, summaries_of
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import AdmissionState
from scheduler.core.group_flight import GroupFlight, group_flights
from scheduler.core.messages import endpoints as words
from scheduler.core.messages.local import cap_not_shared
from scheduler.core.operator_steps import Step, steps_of
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot

LONGEST = 50
"""How many of a queue are shown."""
MOST_BACKS = 3
DANGERS = frozenset({Step.QUARANTINE, Step.CLEAR_QUEUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """An endpoint's last hour: how long calls queued, how often its model changed; `backs` names what for nothing."""

    attempts: int
    p50: str
    p95: str
    switches: str
    backs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """One endpoint of the list. `problem` says what ails its health, `local` that its cap is not shared now.

    `group` says how full its resource group is.

    `only` counts who waits for it alone, `either` who may come to another one too, `oldest` is since when the first.
    """

    id: str
    name: str
    condition: Condition
    problem: str
    local: str
    gauge: Gauge
    group: str
    only: int
    either: int
    oldest: Moment | None
    hour: Hour


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One who waits for it, as on the board, and where else it may come to run."""

    row: Waiting
    turn: str
    elsewhere: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What an operator may do now, and what follows from it."""

    id: str
    step: str
    name: str
    means: str
    is_danger: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSheet:
    """Everything about one endpoint; `span` names the time that its last hour tells of."""

    one: EndpointRow
    span: str
    queue: tuple[QueueRow, ...]
    says: str
    more: str
    empty: str
    operations: tuple[Operation, ...]


def endpoints_of(
    *, replica: Replica, local: LocalState, attempts: Sequence[AttemptRecord], since: float, now: float
) -> tuple[EndpointRow, ...]:
    """List the endpoints by name; `attempts` are those since a moment."""
    snapshot = replica.snapshot(now=now)
    queues = queues_of(snapshot=snapshot, waiters=replica.waiting())
    hours = hours_of(attempts=attempts, since=since, now=now)
    groups = group_flights(snapshot)
    return tuple(
        _row(
            replica=replica,
            snapshot=snapshot,
            name=name,
            local=local,
            found=queues[name],
            hour=hours.get(name, QUIET),
            group=groups.get(name),
        )
        for name in sorted(snapshot.servers, key=natural)
    )


def endpoint_sheet_of(
    *,
    replica: Replica,
    local: LocalState,
    name: str,
    config: SchedulerConfig,
    attempts: Sequence[AttemptRecord],
    since: float,
    now: float,
) -> EndpointSheet | None:
    """Show one endpoint; None where there is none of that name."""
    snapshot = replica.snapshot(now=now)
    if name not in snapshot.servers:
        return None
    line = queue_in_order(replica=replica, snapshot=snapshot, server=name, config=config, limit=LONGEST)
    hour = hours_of(attempts=attempts, since=since, now=now).get(name, QUIET)
    group = group_flights(snapshot).get(name)
    one = _row(replica=replica, snapshot=snapshot, name=name, local=local, found=line.found, hour=hour, group=group)
    palette, count = palette_of(replica), len(line.found)
    queue = tuple(
        QueueRow(
            row=waiting_row(replica=replica, snapshot=snapshot, standing=standing, config=config, palette=palette),
            turn=str(standing.position),
            elsewhere=words.or_elsewhere(servers=[name for name in found.elsewhere if snapshot.servers[name].is_open]),
        )
        for standing, found in line.shown
    )
    return EndpointSheet(
        one=one,
        span=words.last_span(span_s=now - since),
        queue=queue,
        says=messages.waiting_count(count=count),
        more=messages.more_wait(count=count - len(queue)) if count > len(queue) else "",
        empty="" if queue else words.nobody_queues(closed=bool(one.condition.closed)),
        operations=_operations(state=replica.servers[name].admission.state, one=one),
    )


def hours_of(*, attempts: Sequence[AttemptRecord], since: float, now: float) -> Mapping[str, Hour]:
    """Sum up attempts since a moment by server."""
    admitted: dict[str, list[tuple[float, str]]] = {}
    for attempt in attempts:
        if attempt.admitted_at is not None:
            admitted.setdefault(attempt.server, []).append((attempt.admitted_at, attempt.model))
    return {
        summary.server: _hour(summary, admitted.get(summary.server, []))
        for summary in summaries_of(attempts=attempts, since=since, until=now)
    }


QUIET = Hour(attempts=0, p50="–", p95="–", switches=words.switches(per_hour=0, avoidable=0), backs=())


def _hour(summary: ServerSummary, admitted: Sequence[tuple[float, str]]) -> Hour:
    backs = Counter((change.model, change.after) for change in changes_of(admitted=admitted) if change.is_back)
    return Hour(
        attempts=summary.attempts,
        p50=words.delay(value_s=summary.queue_p50_s),
        p95=words.delay(value_s=summary.queue_p95_s),
        switches=words.switches(per_hour=summary.switches_per_hour, avoidable=summary.switches.avoidable),
        backs=tuple(
            words.came_back(model=model, instead=instead, count=count)
            for (model, instead), count in backs.most_common(MOST_BACKS)
        ),
    )


def _row(
    *,
    replica: Replica,
    snapshot: ClusterSnapshot,
    name: str,
    local: LocalState,
    found: Sequence[InQueue],
    hour: Hour,
    group: GroupFlight | None,
) -> EndpointRow:
    server, record = snapshot.servers[name], replica.servers[name]
    only = sum(each.is_cleared for each in found)
    return EndpointRow(
        id=dom_id("endpoint", name),
        name=name,
        condition=condition_of(record=record, server=server, now=snapshot.now),
        problem=messages.server_problem(phase=record.seen.phase, detail=record.seen.detail),
        local=cap_not_shared(is_on=name in local.servers, running=local.running.get(name, 0)),
        gauge=gauge_of(server),
        group="" if group is None else words.group_fill(group=group, server=name),
        only=only,
        either=len(found) - only,
        oldest=moment(min((each.waiter.arrived_at for each in found), default=None)),
        hour=hour,
    )


def _operations(*, state: AdmissionState, one: EndpointRow) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            id=dom_id("do", step.value),
            step=step.value,
            name=words.step_name(step=step),
            means=words.step_means(step=step, sent_away=one.only, stay=one.either),
            is_danger=step in DANGERS,
        )
        for step in steps_of(state=state, waiting=one.only)
    )
