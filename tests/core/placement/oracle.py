"""The scheduling rules, sections 2 and 3, once more: slow, literal, over plain JSON, sharing no line with the product.

`answer(doc)` walks the text sentence by sentence and tries every set of victims.
Arithmetic is exact (fractions of the decimals in the snapshot), so that a tie is a tie of the text, not of a rounding.
Where the text leaves a choice, the reading taken here is named `Reading:` beside the line.
"""

from fractions import Fraction
from itertools import combinations
from typing import Any

from tests.core.placement.oracle_snapshot import Doc, Snapshot, number, weight

NEVER = Fraction(-(10**12))


def answer(doc: Doc) -> Doc:
    """Say what the text says: action, server, model, evicts, reason, costSeconds."""
    return Oracle(doc).decide()


class Oracle(Snapshot):
    """Section 3 over one snapshot."""

    # ---- section 3, victims ----------------------------------------------------------------------------------------

    def wanted(self, model: str) -> Doc:
        found = self.demand.get(model) or {}
        return {
            "waiting": len(found.get("waiting") or []),
            "intents": len(found.get("intents") or []),
            "likely": number(found.get("use"), 0) + number(found.get("predicted"), 0),
            "lastUsed": number(found.get("lastUsed")),
        }

    def need(self, server: Doc, model: str) -> tuple[Any, ...]:
        wanted = self.wanted(model)
        last = wanted["lastUsed"]
        if last is None:
            last = number(self.warm(server)[model]["lastUsed"])
        # Reading: never seen in use is the least recent of all.
        return (wanted["waiting"], wanted["intents"], wanted["likely"], NEVER if last is None else last)

    def idle(self, server: Doc, preferred: str) -> list[str]:
        drain = server["drain"]
        is_mine = drain is not None and drain["agent"] == self.request["agent"] and drain["model"] == preferred
        in_use = {ticket["model"] for ticket in server["tickets"]}
        found = []
        for model in self.warm(server):
            wanted = self.wanted(model)
            protected = wanted["waiting"] or wanted["intents"]
            if model not in in_use and (not protected or (is_mine and model in drain["victims"])):
                found.append(model)
        return found

    def victims(self, server: Doc, model: str, preferred: str) -> list[str] | None:
        idle = self.idle(server, preferred)
        free, need = self.free(server), self.footprint(server, model)
        for size in range(1, len(idle) + 1):
            sets = [
                chosen
                for chosen in combinations(idle, size)
                if free + sum(self.footprint(server, v) or 0 for v in chosen) >= need
            ]
            if sets:
                best = min(sets, key=lambda chosen: (sorted(self.need(server, v) for v in chosen), sorted(chosen)))
                return sorted(best, key=lambda v: (self.need(server, v), v))
        return None

    def reload_cost(self, server: Doc, victim: str) -> Fraction:
        wanted = self.wanted(victim)
        if wanted["waiting"] or wanted["intents"]:
            likely = Fraction(1)
        else:
            likely = Fraction(1 - 0.5 ** float(wanted["likely"] / 5))
        return 1 + self.load_seconds(server, victim) * likely

    # ---- section 3, the decision -----------------------------------------------------------------------------------

    def decide(self) -> Doc:
        original = self.candidates[0]
        tolerance = self.request["tolerance"]
        tolerance = 10 if tolerance is None else tolerance
        acceptable = [c for c in self.candidates if original["score"] - c["score"] <= tolerance]

        left = [c for c in acceptable if not self.can_never_be_placed(c)]
        if not left:
            return result("stand_aside", model=original["model"], reason="model-too-large")
        left = [
            c for c in left if any(self.could_ever(c, s) and self.context_fits(s, c["model"]) for s in self.servers)
        ]
        if not left:
            return result("stand_aside", model=original["model"], reason="prompt-too-large")
        # Reading: the best acceptable one left is the first of the list.
        preferred = left[0]
        self.open_servers = [s for s in self.servers if s["ready"] and not s["circuitOpen"]]
        return (
            self.step_1_and_2(left)
            or self.step_3(left)
            or self.step_4(left, preferred)
            or self.step_5(left, preferred)
            or result("wait", model=preferred["model"], reason="gpu-busy")
        )

    def step_1_and_2(self, left: list[Doc]) -> Doc | None:
        for candidate in left:
            model = candidate["model"]
            copies = [s for s in self.places(candidate) if model in self.warm(s) and self.free_slot(s, model)]
            if copies:
                best = min(copies, key=lambda s: self.copy_order(s, model))
                return result("use", server=best["name"], model=model)
        return None

    def step_3(self, left: list[Doc]) -> Doc | None:
        for candidate in left:
            model = candidate["model"]
            copies = [s for s in self.places(candidate) if model in self.loading(s)]
            # Reading: a copy one may neither take nor queue on is passed over.
            copies = [s for s in copies if self.free_slot(s, model) or self.wait(s, model) is not None]
            if copies:
                best = min(copies, key=lambda s: (not self.free_slot(s, model), self.copy_order(s, model)))
                if self.free_slot(best, model):
                    return result("join", server=best["name"], model=model, cost=self.rest_of_load(best, model))
                return result("queue", server=best["name"], model=model, cost=self.wait(best, model))
        return None

    def step_4(self, left: list[Doc], preferred: Doc) -> Doc | None:
        targets = [c for c in left if c["score"] == preferred["score"]]
        loads = []
        for candidate, server in self.could_hold(targets):
            model = candidate["model"]
            if self.footprint(server, model) <= self.free(server):
                loads.append((self.load_cost(server, model), "load", candidate, server, []))
        return self.cheapest(loads + self.queues(targets)) if loads else None

    def step_5(self, left: list[Doc], preferred: Doc) -> Doc | None:
        targets = [c for c in left if c["score"] == preferred["score"]]
        options = self.queues(left)
        for candidate, server in self.could_hold(targets):
            model = candidate["model"]
            chosen = self.victims(server, model, preferred["model"])
            if chosen is not None:
                cost = self.load_seconds(server, model) + self.unreliability(server)
                cost += sum(self.reload_cost(server, victim) for victim in chosen)
                options.append((cost, "evict", candidate, server, chosen))
        return self.cheapest(options) if options else None

    def places(self, candidate: Doc) -> list[Doc]:
        return [
            s for s in self.open_servers if self.may_place(candidate, s) and self.context_fits(s, candidate["model"])
        ]

    def can_never_be_placed(self, candidate: Doc) -> bool:
        model = candidate["model"]
        if any(self.may_place(candidate, s) and model in self.warm(s) for s in self.servers):
            return False
        for server in self.servers:
            if self.may_load(candidate, server):
                usable, footprint = self.usable(server), self.footprint(server, model)
                if usable is None or footprint is None or footprint <= usable:
                    return False
        # Reading: with no server that may hold it at all, every one of none is too small.
        return True

    def could_ever(self, candidate: Doc, server: Doc) -> bool:
        model = candidate["model"]
        if self.may_place(candidate, server) and (model in self.warm(server) or model in self.loading(server)):
            return True
        usable, footprint = self.usable(server), self.footprint(server, model)
        return self.may_load(candidate, server) and (usable is None or footprint is None or footprint <= usable)

    def could_hold(self, targets: list[Doc]) -> list[tuple[Doc, Doc]]:
        """Pair targets with the servers that have everything a load needs but the memory."""
        return [
            (candidate, server)
            for candidate in targets
            for server in self.places(candidate)
            if self.may_load(candidate, server)
            and candidate["model"] not in self.warm(server)
            and candidate["model"] not in self.loading(server)
            and self.footprint(server, candidate["model"]) is not None
            and self.free(server) is not None
            and self.below_cap(server)
            and (server["drain"] is None or server["drain"]["model"] == candidate["model"])
        ]

    def copy_order(self, server: Doc, model: str) -> tuple[Any, ...]:
        is_spilling = model in self.warm(server) and bool(self.warm(server)[model]["spilling"])
        per_slot = Fraction(len(self.tickets(server, model)), server["slots"] or 1)
        return (is_spilling, per_slot, -weight(server), server["name"])

    def unreliability(self, server: Doc) -> Fraction:
        return Fraction(60 * (1 - number(server["successRate"], 1)))

    def load_cost(self, server: Doc, model: str) -> Fraction:
        usable, footprint = self.usable(server), self.footprint(server, model)
        cost = self.load_seconds(server, model) + 2 * (usable - footprint) / usable + self.unreliability(server)
        if any(model in self.warm(s) or model in self.loading(s) for s in self.open_servers):
            # Reading: only copies on open servers make it a second one.
            cost += 2 * self.call_seconds(server)
        return Fraction(cost)

    def queues(self, candidates: list[Doc]) -> list[Any]:
        options = []
        for candidate in candidates:
            model = candidate["model"]
            for server in self.places(candidate):
                if model in self.warm(server) or model in self.loading(server):
                    cost = self.wait(server, model)
                    if cost is not None:
                        options.append((cost, "queue", candidate, server, []))
        return options

    def cheapest(self, options: list[Any]) -> Doc:
        def order(option: Any) -> tuple[Any, ...]:
            cost, action, candidate, server, evicts = option
            place = self.candidates.index(candidate)
            return (round(cost, 9), action != "queue", len(evicts), place, -weight(server), server["name"])

        cost, action, candidate, server, evicts = min(options, key=order)
        return result(action, server=server["name"], model=candidate["model"], evicts=evicts, cost=cost)


def result(
    action: str,
    *,
    model: str,
    server: str | None = None,
    evicts: list[str] | None = None,
    reason: str | None = None,
    cost: Any = 0,
) -> Doc:
    """Write an answer."""
    return {
        "action": action,
        "server": server,
        "model": model,
        "evicts": evicts or [],
        "reason": reason,
        "costSeconds": float(cost),
    }
