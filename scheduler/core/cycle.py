"""One pass of planning over a snapshot: who gets which place, who waits for what, who stands aside.

House rules: every grant is folded into the snapshot before the next one is decided, so that agents converge on
one copy; the line's order decides who is asked first, so that nobody barges; the changes are proposals, and the
ledger checks each.
"""

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter

from scheduler.core import draining
from scheduler.core.admission.closed import why_not_placed
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Decision, Evict, Grant, Load, Queue, Reason, StandAside, Wait
from scheduler.core.explain import trace_json
from scheduler.core.granting import ticket_for
from scheduler.core.ledger import Change, DrainChange, GrantChange, StandAsideChange
from scheduler.core.line import Copy, Group, Queued
from scheduler.core.overdue import overdue_loads
from scheduler.core.passing import Pass
from scheduler.core.placement.held import HeldPlace
from scheduler.core.placement.targets import may_move
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.telling import describe
from scheduler.core.types import Waiter
from scheduler.core.waiting_line import WaitingLine, line_of


def plan(
    *,
    snapshot: ClusterSnapshot,
    waiters: Iterable[Waiter] | WaitingLine,
    held: Mapping[str, HeldPlace],
    config: SchedulerConfig,
    is_weighted: bool,
) -> tuple[tuple[Change, ...], ClusterSnapshot]:
    """Plan for every waiter; give the changes and the snapshot with them folded in.

    1. Free slots of warm and loading copies go to the first in line that may use them; a load under a cap, too, that
       has waited long enough for a drain.
    2. Loads and evictions are decided group by group, the most urgent first; after each, 1. again: others may join it.
       Where a group's head queues, whoever queues too far behind it for that to pay is asked instead.
    3. Whoever can never be placed, or has waited to its limit, stands aside; after that, 1. again: what stood for
       them no longer keeps anybody out.
    4. Who still waits is told what for; who has waited too long for models in use may get a drain.

    `held` maps plan ids to the places they hold. Waiters that are granted already matter for 3. alone. The
    line is left as it is.
    """
    if isinstance(waiters, WaitingLine):
        line = waiters
        line.settle(now=snapshot.now, contexts=snapshot.index.known_contexts, is_weighted=is_weighted)
    else:
        line = line_of(waiters=waiters, snapshot=snapshot, config=config, is_weighted=is_weighted)
    work = Pass(snapshot=snapshot, config=config, held=held, line=line, waiting=[])
    _end_drains(work)
    holders = {place.ticket.agent for place in held.values()}
    work.waiting = line.groups(holders=holders, drains=work.snapshot.index.drains.values())
    while _grant_slots(work) or _grant_load(work) or _stand_aside(work):
        pass
    past_limit = line.past_limit(now=snapshot.now)
    work.changes.extend(overdue_loads(snapshot=snapshot, waiters=past_limit, config=config))
    for group in work.waiting:
        for part in work.told_alike(group):
            describe(work, group=part)
    _drain(work)
    return tuple(work.changes), work.snapshot


def _grant_slots(work: Pass) -> bool:
    """Give free slots to the first in line, until none of the groups can use one. Say whether any was given."""
    granted = False
    asked: list[Group] = []
    line = list(work.waiting)
    while line:
        group = line.pop(0)
        is_servable = work.servable(group) is not None
        decision: Grant | None = work.place_now(turn=group.order, waiter=group.head) if is_servable else None
        if decision is None and is_servable:
            decision = _load_under_cap(work, group)
        if decision is None:
            asked.append(group)
            continue
        _grant(work, group.head, decision)
        granted = True
        rest = group.without(0)
        if rest:
            # Its next member takes its turn behind whoever comes before it now.
            insort(line, rest, key=lambda g: g.order)
    work.waiting = sorted(asked, key=lambda group: group.order)
    return granted


def _load_under_cap(work: Pass, group: Group) -> Load | Evict | None:
    """Say which load a head takes in its turn, as if it were a slot: one under a cap, once a drain would be due for it.

    Each place that frees under a cap goes to who can use it at once, and a load can only when its turn comes first.
    """
    snapshot, head = work.snapshot, group.head
    if not snapshot.index.capped or not draining.is_due(waiter=head, now=snapshot.now, config=work.config):
        return None
    if not may_move(snapshot=snapshot, candidates=work.request(turn=group.order, waiter=head).acceptable):
        return None
    decision = work.decide(turn=group.order, waiter=head)
    return decision if isinstance(decision, Load | Evict) and decision.server in snapshot.index.capped else None


def _grant_load(work: Pass) -> bool:
    """Begin the most urgent load or eviction, if any group wants one."""
    _count_newcomers(work)
    # Where everybody queues follows from the line alone, first to last: what they were told before does not count.
    queues: dict[Copy, Queued] = {}
    work.snapshot = work.snapshot.with_queues(queues)
    wanting = []
    for group in work.waiting:
        servable = work.servable(group)
        if servable is None:
            work.decisions[group.head.id] = work.held_by_key(group)
            continue
        decision, place = work.decide(turn=group.order, waiter=group.head), 0
        work.decisions[group.head.id] = decision
        if isinstance(decision, Queue):
            copy = (decision.server, decision.model)
            queues[copy] = Queued(groups=(*(queues[copy].groups if copy in queues else ()), servable))
            if len(servable) > 1:
                place, decision = _first_to_move(work, servable, decision)
        if isinstance(decision, Load | Evict):
            load_s = work.snapshot.servers[decision.server].load_seconds(decision.footprint_mib)
            urgency = servable.since(place).urgency(now=work.snapshot.now, load_s=load_s)
            wanting.append(((group.order[0], -urgency, group.order), group, place, decision))
    if not wanting:
        return False
    _, group, place, decision = min(wanting, key=lambda entry: entry[0])
    _grant(work, group.member(place)[1], decision)
    rest = group.without(place)
    others = [other for other in work.waiting if other is not group]
    work.waiting = sorted([*others, rest] if rest else others, key=lambda g: g.order)
    return True


def _first_to_move(work: Pass, group: Group, queue: Decision) -> tuple[int, Decision]:
    """Find the first member of a group that queues so far behind its head that moving a model pays; else the head.

    The further behind, the longer the wait: the last member answers for all, and halving finds the first.
    """
    last = len(group) - 1
    if not may_move(snapshot=work.snapshot, candidates=work.request(turn=group.order, waiter=group.head).acceptable):
        return 0, queue
    decision = _decide_member(work, group, last)
    if not isinstance(decision, Load | Evict):
        return 0, queue
    first, place = 0, last
    while place - first > 1:
        middle = (first + place) // 2
        found = _decide_member(work, group, middle)
        if isinstance(found, Load | Evict):
            place, decision = middle, found
        else:
            first = middle
    return place, decision


def _decide_member(work: Pass, group: Group, place: int) -> Decision:
    turn, waiter = group.member(place)
    return work.decide(turn=turn, waiter=waiter)


def _count_newcomers(work: Pass) -> None:
    """Let what newcomers wait for protect it: the ledger does not know yet what they were told."""
    for group in map(work.servable, work.waiting):
        newcomers = work.line.newcomers(group, besides=work.gone) if group is not None else []
        if group is not None and newcomers:
            decision = work.decide(turn=group.order, waiter=group.head)
            if isinstance(decision, Queue | Wait):
                waiting = {waiter.id: waiter.arrived_at for waiter in newcomers}
                work.snapshot = work.snapshot.with_waiting(model=decision.model, waiting=waiting)


def _grant(work: Pass, waiter: Waiter, decision: Grant) -> None:
    ticket, load = ticket_for(waiter=waiter, decision=decision, snapshot=work.snapshot)
    place = None if waiter.plan is None else work.held.get(waiter.plan)
    trace = trace_json(decision)
    if place is not None:
        planned = place.ticket
        work.snapshot = work.snapshot.without_ticket(server=planned.server, ticket=planned.id)
        if (planned.server, planned.model) == (ticket.server, ticket.model):
            # It was decided when the place was chosen: nothing is weighed for a call that takes what is held for it.
            ticket = replace(ticket, action=planned.action, evicted=planned.evicted)
            trace = place.trace
    replaces = None if place is None else place.ticket.id
    work.changes.append(GrantChange(ticket=ticket, load=load, replaces=replaces, trace=trace))
    work.snapshot = work.snapshot.with_ticket(ticket, load=load)
    _leave(work, waiter)


def _leave(work: Pass, waiter: Waiter) -> None:
    """Let go of what stood for a waiter: the demand that protects a model, and its drain."""
    work.gone.add(waiter.id)
    for model in dict.fromkeys((waiter.model, *(candidate.model for candidate in waiter.candidates))):
        work.snapshot = work.snapshot.without_waiting(model=model, waiter=waiter.id)
    for name, drain in work.snapshot.index.drains.items():
        if drain.waiter == waiter.id:
            work.snapshot = work.snapshot.with_server(replace(work.snapshot.servers[name], drain=None))
    work.decisions.pop(waiter.id, None)


def _stand_aside(work: Pass) -> bool:
    """End the waits of heads that can never be placed, and of everybody past the limit. Say whether any ended."""
    now = work.snapshot.now
    is_due = any(w.is_waiting and w.id not in work.gone for w in work.line.past_limit(now=now))
    ended = False
    left: list[Group] = []
    for group in work.waiting:
        decision = work.decisions[group.head.id]
        is_hopeless = isinstance(decision, StandAside)
        if not is_hopeless and not (is_due and any(now >= waiter.limit_at for waiter in group.members)):
            left.append(group)
            continue
        staying = []
        key_room = work.snapshot.room_of_key(group.head)
        # What counts for it is alike for the whole group.
        without_place = why_not_placed(snapshot=work.snapshot, waiter=group.head)
        for place in range(len(group)):
            turn, waiter = group.member(place)
            if is_hopeless or now >= waiter.limit_at:
                is_key_full = key_room is not None and place >= key_room
                reason = Reason.KEY_LIMIT if is_key_full else without_place
                if isinstance(decision, StandAside):
                    reason = decision.reason
                trace = trace_json(decision)
                change = StandAsideChange(waiter=waiter.id, reason=reason.value, model=decision.model, trace=trace)
                work.changes.append(change)
                _leave(work, waiter)
                ended = True
            else:
                staying.append((turn, waiter))
        if staying:
            work.decisions[staying[0][1].id] = decision
            turns, waiters = zip(*staying, strict=True)
            left.append(Group(turns=turns, waiters=waiters, told=group.told))
    work.waiting = sorted(left, key=lambda group: group.order)
    return ended


def _end_drains(work: Pass) -> None:
    """End drains whose waiter waits no longer, or could not use the room, or whose server is closed to calls."""
    for name, drain in sorted(work.snapshot.index.drains.items(), key=itemgetter(0)):
        server = work.snapshot.servers[name]
        if not server.is_open or drain.waiter is None or not _could_use_room(work, drain.waiter):
            work.changes.append(DrainChange(server=name, drain=None))
            work.snapshot = work.snapshot.with_server(replace(server, drain=None))


def _could_use_room(work: Pass, waiter: str) -> bool:
    return work.line.is_waiting(waiter) and work.snapshot.room_of_key(work.line.waiter(waiter)) != 0


def _drain(work: Pass) -> None:
    """Begin drains for the oldest waiters of each class that only models in use or waited for keep out."""
    drained = work.snapshot.drained_for
    allowed = draining.drains_allowed(snapshot=work.snapshot)
    by_age = sorted(work.waiting, key=lambda group: (group.order[0], group.head.arrived_at, group.head.id))
    for group in by_age:
        head = group.head
        decision = work.decisions[head.id]
        if allowed <= 0:
            return
        if head.id in drained or not isinstance(decision, Wait) or decision.reason is not Reason.GPU_BUSY:
            continue
        if not draining.is_due(waiter=head, now=work.snapshot.now, config=work.config):
            continue
        chosen = draining.choose(snapshot=work.snapshot, waiter=head, model=decision.model)
        if chosen is None:
            continue
        name, drain = chosen
        work.changes.append(DrainChange(server=name, drain=drain))
        work.snapshot = work.snapshot.with_server(replace(work.snapshot.servers[name], drain=drain))
        allowed -= 1
