"""The last decisions: what each call got, why, how it went on, and what else was weighed, in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.marks import Mark, Palette
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.call_history import CallRecord, CallState

SHOWN = 12
"""How many decisions the board shows."""
WHOLE = 100
TONES = {
    CallState.WAITING: "warn",
    CallState.LOADING: "busy",
    CallState.RUNNING: "busy",
    CallState.LEFT: "warn",
    CallState.DONE: "good",
    CallState.FAILED: "bad",
    CallState.LAPSED: "bad",
    CallState.STOOD_ASIDE: "warn",
    CallState.GIVEN_UP: "warn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One of the options: what it would have been, its cost as words and as a bar of `share` hundredths."""

    says: str
    cost: str
    share: int | None
    is_taken: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One call's decision. `options` are all that was weighed, the one taken first; empty where it was alone."""

    id: str
    call: str
    at: Moment | None
    agent: str
    mark: Mark | None
    action: str
    sentence: str
    state: str
    tone: str
    options: tuple[Weighed, ...]


def choices_of(*, calls: Sequence[CallRecord], palette: Palette) -> tuple[Choice, ...]:
    """Tell the calls' decisions, the newest first."""
    return tuple(_choice(call, palette) for call in sorted(calls, key=_decided_at, reverse=True))


def weighed_of(decision: Mapping[str, Any] | None) -> tuple[Weighed, ...]:
    """Draw the options of a decision, as `scheduler.core.explain` writes it."""
    options = (decision or {}).get("options") or ()
    dearest = max((option.get("costSeconds") or 0.0 for option in options), default=0.0)
    return tuple(_weighed(option, dearest=dearest, is_taken=not place) for place, option in enumerate(options))


def _weighed(option: Mapping[str, Any], *, dearest: float, is_taken: bool) -> Weighed:
    cost_s = option.get("costSeconds")
    return Weighed(
        says=messages.option_name(
            action=str(option.get("action")),
            model=str(option.get("model")),
            server=str(option.get("server")),
            evicts=option.get("evicts") or (),
        ),
        cost="" if cost_s is None else messages.seconds(cost_s),
        share=None if cost_s is None or not dearest else max(1, round(WHOLE * cost_s / dearest)),
        is_taken=is_taken,
        why=str(option.get("why", "")),
    )


def _choice(call: CallRecord, palette: Palette) -> Choice:
    options = weighed_of(call.decision)
    return Choice(
        id=dom_id("decision", call.id),
        call=call.id,
        at=moment(_decided_at(call)),
        agent=call.agent,
        mark=palette.mark(call.model) if call.model else None,
        action=call.action or "ask",
        sentence=_sentence(call),
        state=messages.call_state(state=call.state, lasted_s=_lasted_s(call)),
        tone=TONES[call.state],
        options=options if len(options) > 1 else (),
    )


def _decided_at(call: CallRecord) -> float:
    return call.granted_at or call.arrived_at


def _sentence(call: CallRecord) -> str:
    if call.state == CallState.STOOD_ASIDE:
        return messages.stood_aside(reason=call.reason, model=call.model)
    decision = call.decision or {}
    is_its_own = decision.get("action") == call.action
    return messages.call_placed(
        action=call.action,
        model=call.model,
        server=call.server,
        evicts=call.evicted,
        cost_s=decision.get("costSeconds") if is_its_own else None,
    )


def _lasted_s(call: CallRecord) -> float | None:
    if call.finished_at is None:
        return None
    return max(call.finished_at - call.arrived_at, 0.0)
