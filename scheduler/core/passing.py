"""What one pass of planning works on, and how it asks for one waiter (see cycle.py)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Decision, Join, Reason, StandAside, Use, Wait
from scheduler.core.ledger import Change
from scheduler.core.line import Group
from scheduler.core.placement.decide import decide, place_now
from scheduler.core.placement.held import HeldPlace, held_decision
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import CallRequest, Ticket, Turn, Waiter
from scheduler.core.waiting_line import WaitingLine


@dataclass(kw_only=True)
class Pass:
    """The folded snapshot, the groups that still wait, the changes so far.

    `line` stays as it was before the pass; `gone` are those of it who wait no longer.
    """

    snapshot: ClusterSnapshot
    config: SchedulerConfig
    held: Mapping[str, HeldPlace]
    line: WaitingLine
    waiting: list[Group]
    gone: set[str] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    decisions: dict[str, Decision] = field(default_factory=dict)
    _requests: dict[str, CallRequest] = field(default_factory=dict)

    def request(self, *, turn: Turn, waiter: Waiter) -> CallRequest:
        """Give the request of a waiter at its place in line."""
        request = self._requests.get(waiter.id)
        if request is None:
            request = self._requests[waiter.id] = waiter.request(turn=turn)
        return request

    def servable(self, group: Group) -> Group | None:
        """Give those of a group who could use a place each, as far as their key goes; None where nobody could."""
        room = self.snapshot.room_of_key(group.head)
        if room is None or room >= len(group):
            return group
        return group.first_few(room) if room else None

    def held_by_key(self, group: Group) -> Decision:
        """Say what becomes of a group whose key holds as many tickets as it may: it waits, unless it is hopeless."""
        decision = self.decide(turn=group.order, waiter=group.head)
        if isinstance(decision, StandAside):
            return decision
        return Wait(model=group.head.candidates[0].model, reason=Reason.KEY_LIMIT)

    def told_alike(self, group: Group) -> tuple[Group, ...]:
        """Divide a group into those who wait for a place and those who wait for their key, each decided."""
        servable = self.servable(group)
        if servable is group or servable is None:
            return (group,)
        rest = group.past(len(servable))
        self.decisions[rest.head.id] = Wait(model=rest.head.candidates[0].model, reason=Reason.KEY_LIMIT)
        return servable, rest

    def decide(self, *, turn: Turn, waiter: Waiter) -> Decision:
        """Say what becomes of a waiter as things stand in this pass."""
        request, ticket = self.request(turn=turn, waiter=waiter), self._held_by(waiter)
        if ticket is None:
            return decide(request=request, snapshot=self.snapshot)
        decision = held_decision(snapshot=self.snapshot, request=request, ticket=ticket)
        return decision or decide(request=request, snapshot=self._given_back(ticket))

    def place_now(self, *, turn: Turn, waiter: Waiter) -> Use | Join | None:
        """Say which free slot a waiter gets; None where it gets none."""
        request, ticket = self.request(turn=turn, waiter=waiter), self._held_by(waiter)
        if ticket is None:
            return place_now(request=request, snapshot=self.snapshot)
        decision = held_decision(snapshot=self.snapshot, request=request, ticket=ticket)
        if decision is not None:
            return decision if isinstance(decision, Use | Join) else None
        return place_now(request=request, snapshot=self._given_back(ticket))

    def _held_by(self, waiter: Waiter) -> Ticket | None:
        place = None if waiter.plan is None else self.held.get(waiter.plan)
        return None if place is None else place.ticket

    def _given_back(self, ticket: Ticket) -> ClusterSnapshot:
        """Make the snapshot for a call whose held place is no good any more: as if it had been given back."""
        return self.snapshot.without_ticket(server=ticket.server, ticket=ticket.id)
