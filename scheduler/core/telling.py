"""Telling those who wait what they wait for now: each newcomer at once, a crowd bit by bit.

What a waiter was told is for people, and for the models that are kept because somebody waits for them. It decides
nothing about its own place, so a long line need not be rewritten whenever its head changes its mind.
"""

from dataclasses import replace

from scheduler.core.decisions import Queue, Reason, Wait
from scheduler.core.explain import trace_json
from scheduler.core.ledger import WaitChange
from scheduler.core.line import Group, Told, told_of
from scheduler.core.passing import Pass
from scheduler.core.snapshot import ClusterSnapshot

TOLD_AT_ONCE = 50
"""So many members of a group, besides its head and newcomers, are told something else at a time."""


def describe(work: Pass, *, group: Group) -> None:
    """Write down for the members of a group what they wait for, where that has changed.

    Whoever queues on one of several copies is not told that another one is nearer now, unless it is the head: they take
    turns with each call that ends. It is told when its copy is gone.
    """
    head, decision = group.head, work.decisions[group.head.id]
    assert isinstance(decision, Queue | Wait)
    server = decision.server if isinstance(decision, Queue) else None
    reason = decision.reason.value if isinstance(decision, Wait) else Reason.GPU_BUSY.value

    def stands(told: Told) -> bool:
        model, action, queue, why = told
        is_same = (model, action, why) == (decision.model, decision.action, reason)
        return is_same and (queue is None or _has_copy(work.snapshot, server=queue, model=model))

    newcomers = work.line.newcomers(group, besides=work.gone)
    others = work.line.told_otherwise(group, stands=stands, besides=work.gone, at_most=TOLD_AT_ONCE)
    changed = {waiter.id: waiter for waiter in (*newcomers, *others)}
    if told_of(head) != (decision.model, decision.action, server, reason):
        changed[head.id] = head
    trace = trace_json(decision) if changed else ""
    for waiter in sorted(changed.values(), key=lambda waiter: work.line.turn(waiter.id)):
        described = replace(waiter, model=decision.model, server=server, action=decision.action, reason=reason)
        work.changes.append(WaitChange(waiter=described, trace=trace))


def _has_copy(snapshot: ClusterSnapshot, *, server: str, model: str) -> bool:
    """Say whether a server that is open has, or is loading, a copy that one could queue on."""
    known = snapshot.servers.get(server)
    return known is not None and known.is_open and (model in known.warm or model in known.loading)
