"""A decision as people and programs read it: the JSON of the API, with why each option lost."""

import json
from functools import lru_cache
from typing import Any

from scheduler.core.decisions import Decision, Evict, Join, Load, Option, Queue, Use
from scheduler.core.messages import option_sentence

_encode = json.JSONEncoder(separators=(",", ":")).encode


def decision_doc(decision: Decision) -> dict[str, Any]:
    """Write a decision as the answer of `POST /api/v1/decide` (scheduling rules, section 3)."""
    return {
        "action": decision.action,
        "server": decision.server if isinstance(decision, Use | Join | Queue | Load | Evict) else None,
        "model": decision.model,
        "evicts": list(decision.evicts) if isinstance(decision, Evict) else [],
        "reason": getattr(decision, "reason", None),
        "costSeconds": getattr(decision, "cost_s", 0.0),
        "options": [option_doc(option) for option in decision.options],
    }


def option_doc(option: Option) -> dict[str, Any]:
    """Write one option of the trace."""
    return {
        "action": option.action,
        "server": option.server,
        "model": option.model,
        "costSeconds": option.cost_s,
        "evicts": list(option.evicts),
        "why": option_sentence(option=option),
    }


def trace_json(decision: Decision, *, planned_at: float | None = None) -> str:
    """Write a decision for the journal; `planned_at` where it was made at selection, ahead of the call."""
    if isinstance(decision, Use) and planned_at is None:
        return _use_json(decision)
    when = {} if planned_at is None else {"plannedAt": planned_at}
    return _encode(decision_doc(decision) | when)


@lru_cache(maxsize=1024)
def _use_json(decision: Use) -> str:
    """Write what warm copies say to one call after another, in the same words as long as the same ones are free."""
    return _encode(decision_doc(decision))
