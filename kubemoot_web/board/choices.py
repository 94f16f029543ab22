"""The last decisions: what each call got, why, how it went on, and what else was weighed."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.call_history import CallRecord, CallState

SHOWN = 12
"""How many decisions the board shows."""
TONES = {
    CallState.WAITING: "warn",
    CallState.LOADING: "busy",
    CallState.RUNNING: "busy",
    CallState.DONE: "good",
    CallState.FAILED: "bad",
    CallState.LAPSED: "bad",
    CallState.STOOD_ASIDE: "warn",
    CallState.GIVEN_UP: "warn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One call's decision. `lost` says of each option that was not taken why."""

    id: str
    at: Moment | None
    agent: str
    sentence: str
    state: str
    tone: str
    lost: tuple[str, ...]


def choices_of(*, calls: Sequence[CallRecord]) -> tuple[Choice, ...]:
    """Tell the calls' decisions, the newest first."""
    return tuple(_choice(call) for call in sorted(calls, key=_decided_at, reverse=True))


def _choice(call: CallRecord) -> Choice:
    return Choice(
        id=dom_id("decision", call.id),
        at=moment(_decided_at(call)),
        agent=call.agent,
        sentence=_sentence(call),
        state=messages.call_state(state=call.state, lasted_s=_lasted_s(call)),
        tone=TONES[call.state],
        lost=_lost(call),
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
    return max(call.finished_at - (call.started_at or call.arrived_at), 0.0)


def _lost(call: CallRecord) -> tuple[str, ...]:
    """Say why the others lost. The first option is the one that was taken."""
    options = (call.decision or {}).get("options") or ()
    return tuple(str(option["why"]) for option in options[1:])
