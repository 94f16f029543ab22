"""Section 2 of the scheduling rules and the estimates of section 3, literally, over plain JSON (see oracle.py)."""

from fractions import Fraction
from typing import Any

Doc = dict[str, Any]
Held = list[tuple[Doc, Doc]]
TENTH = Fraction(1, 10)


def number(value: Any, default: Any = None) -> Any:
    """Read a number exactly; null is unknown, or the default the text names."""
    if value is None:
        return None if default is None else Fraction(default)
    return Fraction(repr(value))


class Snapshot:
    """One snapshot and its request: section 2, and the estimates of section 3."""

    def __init__(self, doc: Doc) -> None:
        self.now = number(doc["now"])
        self.servers = doc["servers"]
        self.models = doc["models"]
        self.demand = doc["demand"]
        self.request = doc["request"]
        self.candidates = self.request["candidates"]
        self.open_servers: list[Doc] = []

    # ---- section 2 -------------------------------------------------------------------------------------------------

    def usable(self, server: Doc) -> Any:
        total = number(server["totalMiB"])
        if total is None:
            return None
        reserve = number(server["reserveMiB"])
        if reserve is None:
            # Reading: 12 % of total is rounded up to whole MiB.
            reserve = Fraction(max(2048, -((-12 * total) // 100)))
        return total - reserve

    def spent(self, server: Doc) -> set[str]:
        # Reading: "any active ticket" is any ticket that exists, whatever its state.
        return {victim for ticket in server["tickets"] for victim in ticket["evicts"]}

    def warm(self, server: Doc) -> dict[str, Doc]:
        gone = self.spent(server)
        return {resident["model"]: resident for resident in server["residents"] if resident["model"] not in gone}

    def loading(self, server: Doc) -> list[str]:
        warm = self.warm(server)
        found: list[str] = []
        for ticket in server["tickets"]:
            if ticket["model"] not in warm and ticket["model"] not in found:
                found.append(ticket["model"])
        return found

    def footprint(self, server: Doc, model: str) -> Any:
        # Reading: a resident named in evicts no longer holds memory, but what it was seen to take is still known.
        for resident in server["residents"]:
            if resident["model"] == model and resident["footprintMiB"] is not None:
                return number(resident["footprintMiB"])
        for ticket in server["tickets"]:
            if ticket["model"] == model and ticket["footprintMiB"] is not None:
                return number(ticket["footprintMiB"])
        # Reading: "resident on any server" is the first in the snapshot's order.
        for other in self.servers:
            for resident in other["residents"]:
                if resident["model"] == model and resident["footprintMiB"] is not None:
                    return number(resident["footprintMiB"])
        return number((self.models.get(model) or {}).get("footprintMiB"))

    def free(self, server: Doc) -> Any:
        usable = self.usable(server)
        if usable is None:
            return None
        held = [self.footprint(server, model) for model in (*self.warm(server), *self.loading(server))]
        # Reading: beside a model of unknown footprint what is free is unknown too, and nothing is loaded.
        return None if None in held else usable - sum(held)

    def tickets(self, server: Doc, model: str | None = None, background: bool = False) -> list[Doc]:
        """The tickets that count against this request: not the places held for its own agent."""
        return [
            ticket
            for ticket in server["tickets"]
            if not (ticket["state"] == "planned" and ticket["agent"] == self.request["agent"])
            and (model is None or ticket["model"] == model)
            and (not background or ticket["priority"] == "background")
        ]

    def is_background(self) -> bool:
        return bool(self.request["priority"] == "background")

    def caps(self, server: Doc) -> list[tuple[int, Held]]:
        """Each limit on this request at the server, with the tickets that count against it and where they are."""
        limits = []
        cap = server["maxConcurrent"]
        if cap is not None:
            limits.append((cap, self.held(server)))
            if self.is_background():
                left = cap - (server["interactiveReserve"] or 0)
                limits.append((left, [(server, t) for t in self.tickets(server, background=True)]))
        group = self.group(server)
        if group is not None:
            # Reading: a group's cap is one more cap, of all tickets on all of its servers; it has no reserve.
            members = [s for s in self.servers if (self.group(s) or {}).get("name") == group["name"]]
            limits.append((group["maxConcurrent"], self.held(*members)))
        return limits

    def group(self, server: Doc) -> Doc | None:
        return server.get("resourceGroup")

    def held(self, *servers: Doc) -> Held:
        return [(server, ticket) for server in servers for ticket in self.tickets(server)]

    def below_cap(self, server: Doc) -> bool:
        return all(len(held) < limit for limit, held in self.caps(server))

    def drained(self, server: Doc, model: str) -> bool:
        """The model is a victim of the server's drain, and this request is not one of those still let through."""
        drain = server["drain"]
        if drain is None or model not in drain["victims"]:
            return False
        since = number(drain["since"])
        earlier = number(self.request["arrivedAt"]) < since
        return not (earlier and self.now < since + self.load_seconds(server, drain["model"]))

    def free_slot(self, server: Doc, model: str) -> bool:
        slots = server["slots"] or 1
        return len(self.tickets(server, model)) < slots and self.below_cap(server) and not self.drained(server, model)

    def context_fits(self, server: Doc, model: str) -> bool:
        known = None
        if model in self.warm(server):
            known = self.warm(server)[model]["contextLength"]
        if known is None:
            known = server["contextLength"]
        prompt = self.request["promptTokens"]
        return known is None or prompt is None or known >= prompt

    def may_place(self, candidate: Doc, server: Doc) -> bool:
        bound = candidate.get("servers")
        return bound is None or server["name"] in bound

    def may_load(self, candidate: Doc, server: Doc) -> bool:
        on_disk = server["models"]
        return (
            self.may_place(candidate, server)
            and server["canLoad"]
            and (on_disk is None or candidate["model"] in on_disk)
        )

    # ---- section 3, estimates --------------------------------------------------------------------------------------

    def speed(self, server: Doc) -> Fraction:
        return Fraction(number(server["loadMiBPerSecond"], 1024))

    def call_seconds(self, server: Doc) -> Fraction:
        return Fraction(number(server["callSeconds"], 30))

    def load_seconds(self, server: Doc, model: str) -> Fraction:
        # Reading: an unknown footprint loads in 0 s (only drains and waits ask about such a model).
        return Fraction((self.footprint(server, model) or 0) / self.speed(server))

    def remaining(self, server: Doc, ticket: Doc) -> Fraction:
        call = self.call_seconds(server)
        # Reading: an unknown start is now.
        elapsed = self.now - number(ticket["startedAt"]) if ticket["startedAt"] is not None else Fraction(0)
        if ticket["state"] == "active":
            return max(call - elapsed, TENTH * call)
        if ticket["state"] == "loading":
            return max(self.load_seconds(server, ticket["model"]) - elapsed, Fraction(0)) + call
        return call

    def next_slot(self, server: Doc, slots: int, held: Held, queued: int) -> Fraction:
        times = sorted(self.remaining(where, ticket) for where, ticket in held)
        # Reading: with more tickets than slots, a slot is free once fewer tickets than slots are left.
        times = times[len(times) - slots :] if len(times) > slots else [Fraction(0)] * (slots - len(times)) + times
        for _ in range(queued):
            times.sort()
            times[0] += self.call_seconds(server)
        return min(times)

    def wait(self, server: Doc, model: str) -> Fraction | None:
        """Seconds until the copy has a place; None when it is no option."""
        if self.drained(server, model):
            return None
        if any(limit <= 0 for limit, _ in self.caps(server)):
            return None
        queued = 0
        if model in self.warm(server):
            queued = self.warm(server)[model]["queued"] or 0
        of_copy = [(server, ticket) for ticket in self.tickets(server, model)]
        answers = [self.next_slot(server, server["slots"] or 1, of_copy, queued)]
        # Reading: only a limit that blocks is asked.
        answers += [
            self.next_slot(server, limit, held, queued) for limit, held in self.caps(server) if len(held) >= limit
        ]
        return max(answers)

    def rest_of_load(self, server: Doc, model: str) -> Fraction:
        # Reading: the load began with the first of its tickets.
        started = [
            number(ticket["startedAt"]) if ticket["startedAt"] is not None else self.now
            for ticket in server["tickets"]
            if ticket["model"] == model
        ]
        return max(self.load_seconds(server, model) - (self.now - min(started)), Fraction(0))


def weight(server: Doc) -> int:
    """Read a server's weight."""
    return 100 if server["weight"] is None else int(server["weight"])
