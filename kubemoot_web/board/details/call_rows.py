"""Calls in a list: one line each, with the time it took as a bar that all share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.board.choices import TONES
from kubemoot_web.board.details.parts import Part, lengths_of, parts_of
from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.marks import Mark, Palette
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.call_history import CallRecord
from scheduler.core.messages.attempts import call_about

LEAST_S = 1.0
"""The shortest time that a whole bar stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One call of a list."""

    id: str
    call: str
    at: Moment | None
    agent: str
    mark: Mark | None
    server: str
    action: str
    state: str
    tone: str
    about: str
    parts: tuple[Part, ...]


def rows_of(
    *, calls: Sequence[CallRecord], keys: Mapping[str, str], palette: Palette, now: float
) -> tuple[CallRow, ...]:
    """List calls as they come; the longest of them fills its bar, unless all were over at once.

    `keys` are the names of keys by their prefixes. A key that gave its call the name is not named again.
    """
    longest = max((sum(lengths_of(call=call, now=now).values()) for call in calls), default=0.0)
    longest = max(longest, LEAST_S)
    return tuple(
        CallRow(
            id=dom_id("call", call.id),
            call=call.id,
            at=moment(call.arrived_at),
            agent=call.agent,
            mark=palette.mark(call.model) if call.model else None,
            server=call.server,
            action=call.action,
            state=messages.call_state(state=call.state),
            tone=TONES[call.state],
            about=call_about(purpose=call.purpose, key=_key(call, keys), attempts=call.attempts, outcome=call.outcome),
            parts=parts_of(call=call, now=now, whole_s=longest),
        )
        for call in calls
    )


def _key(call: CallRecord, keys: Mapping[str, str]) -> str:
    name = keys.get(call.key, call.key)
    return "" if name == call.agent else name
