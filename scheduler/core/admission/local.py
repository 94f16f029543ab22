"""Which place a call gets while the ledger cannot be reached, on servers whose operator said `local`.

House rules: the rules of places are those of every other decision, asked of a smaller picture: these servers alone,
what was in memory there last, and the calls of this process. Nothing is loaded or unloaded.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from scheduler.core.decisions import Reason, Use
from scheduler.core.gate import FailMode
from scheduler.core.granting import ticket_for
from scheduler.core.ledger import ServerRecord
from scheduler.core.placement.decide import place_now
from scheduler.core.placement.fit import has_free_slot
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Ticket, Waiter

ACTION = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalState:
    """How a process stands. `servers` are those that go on without the ledger now, `running` counts by server the calls
    that began without it and still run, `waiting` those in this process's own line.
    """

    is_on: bool
    servers: tuple[str, ...]
    running: Mapping[str, int]
    waiting: int


def local_picture(*, snapshot: ClusterSnapshot, records: Mapping[str, ServerRecord]) -> Mapping[str, Server]:
    """Keep of a picture the servers that go on by themselves, with nothing but what may be used there.

    A server that is closed, or whose engine a single call was to try, stays closed; copies that a load was about to
    unload are gone. What others run there is not counted: the cap is not shared. The others of their resource groups
    are kept closed and empty, for calls that this process has there count against the group.
    """
    going_on = {
        name: _alone(server)
        for name, server in snapshot.servers.items()
        if records[name].config.fail_mode is FailMode.LOCAL and server.is_open and not server.half_open
    }
    groups = {server.resource_group for server in going_on.values()} - {None}
    beside = {
        name: replace(_alone(server), residents=(), paused=True)
        for name, server in snapshot.servers.items()
        if name not in going_on and server.resource_group in groups
    }
    return going_on | beside


def without(*, picture: Mapping[str, Server], server: str) -> Mapping[str, Server]:
    """Keep a server closed from now on."""
    return {**picture, server: replace(picture[server], paused=True)}


def served_locally(*, picture: Mapping[str, Server], waiter: Waiter) -> Waiter | None:
    """Leave of what a call accepts the models that are in memory where it may run; None where none is."""
    candidates = tuple(
        candidate
        for candidate in waiter.candidates
        if any(
            server.is_open
            and candidate.model in server.warm
            and candidate.may_run_on(server.name)
            and server.fits_prompt(model=candidate.model, prompt_tokens=waiter.prompt_tokens)
            for server in picture.values()
        )
    )
    return replace(waiter, candidates=candidates) if candidates else None


def local_ticket(
    *, picture: Mapping[str, Server], own: Collection[Ticket], waiter: Waiter, now: float
) -> Ticket | Reason:
    """Give a call a place beside this process's own calls, or say what keeps it from one now."""
    wanted = {candidate.model for candidate in waiter.candidates}
    names = {name for name, server in picture.items() if not wanted.isdisjoint(server.warm)}
    snapshot = _with_own(picture=picture, own=own, names=names, now=now)
    if snapshot.room_of_key(waiter) == 0:
        return Reason.KEY_LIMIT
    decision = place_now(request=waiter.request(), snapshot=snapshot)
    if not isinstance(decision, Use):
        return Reason.GPU_BUSY
    ticket, _ = ticket_for(waiter=waiter, decision=decision, snapshot=snapshot, is_in_line=False)
    return replace(ticket, id=f"{ACTION}-{waiter.id}", action=ACTION)


def has_room_beside(*, picture: Mapping[str, Server], own: Collection[Ticket], ticket: Ticket, now: float) -> bool:
    """Say whether a ticket of the ledger still has room beside this process's own calls, where these have gone on."""
    if ticket.server not in picture:
        return True
    others = [other for other in own if other.id != ticket.id]
    snapshot = _with_own(picture=picture, own=others, names={ticket.server}, now=now)
    request = CallRequest(agent=ticket.agent, candidates=(), priority=ticket.priority)
    return has_free_slot(snapshot=snapshot, server=snapshot.servers[ticket.server], model=ticket.model, request=request)


def _alone(server: Server) -> Server:
    return replace(server, residents=server.warm_copies, tickets=(), loads=(), tickets_load=False, drain=None)


def _with_own(
    *, picture: Mapping[str, Server], own: Collection[Ticket], names: Collection[str], now: float
) -> ClusterSnapshot:
    """Make the picture of a decision: some servers and those of their groups, with this process's calls there."""
    own = [replace(ticket, evicts=()) for ticket in own]  # whatever was unloaded for them is gone from the picture
    groups = {picture[name].resource_group for name in names} - {None}
    return ClusterSnapshot(
        now=now,
        servers={
            name: server.with_work(tickets=tuple(ticket for ticket in own if ticket.server == name), loads=())
            for name, server in picture.items()
            if name in names or server.resource_group in groups
        },
        footprints={},
        demand={},
        key_tickets=Counter(ticket.key for ticket in own if ticket.key),
    )
