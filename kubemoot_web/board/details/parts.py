"""A call in parts: how long it waited for a place, then for the load, then ran."""

from dataclasses import dataclass

from scheduler.core import messages
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.messages.history import call_part

LOADS = ("load", "evict", "join")
GOING_ON = frozenset({CallState.WAITING, CallState.LOADING, CallState.RUNNING, CallState.LEFT})
WHOLE = 100
NOTICED_S = 0.05
"""A part that took less is left out: nobody waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a call: wait, load or run, as words and as `share` hundredths of a bar."""

    kind: str
    says: str
    lasts: str
    share: int


def lengths_of(*, call: CallRecord, now: float) -> dict[str, float]:
    """Work out how many seconds each part took, up to now for a call that goes on; the last one is always told."""
    end = call.finished_at or now
    started = end if call.started_at is None else call.started_at
    granted = call.granted_at if call.granted_at is not None and call.action in LOADS else started
    found = {"wait": granted - call.arrived_at}
    if call.granted_at is not None and call.action in LOADS:
        found["load"] = started - granted
    if call.started_at is not None:
        found["run"] = end - started
    last = list(found)[-1]
    return {kind: max(lasts_s, 0.0) for kind, lasts_s in found.items() if lasts_s >= NOTICED_S or kind == last}


def parts_of(*, call: CallRecord, now: float, whole_s: float | None = None) -> tuple[Part, ...]:
    """Draw a call's parts on a bar of `whole_s` seconds; its own length where none is given."""
    lengths = lengths_of(call=call, now=now)
    whole = max(sum(lengths.values()) if whole_s is None else whole_s, 0.001)
    last = list(lengths)[-1]
    return tuple(
        Part(
            kind=kind,
            says=call_part(
                part=kind,
                is_going_on=kind == last and call.state in GOING_ON,
                is_left=kind == last and call.state is CallState.LEFT,
            ),
            lasts=messages.seconds(lasts_s),
            share=share,
        )
        for (kind, lasts_s), share in zip(lengths.items(), _shares(list(lengths.values()), whole), strict=True)
    )


def _shares(lengths: list[float], whole: float) -> list[int]:
    """Give whole hundredths that never sum up to more than the bar; what took any time is seen."""
    shares = [round(WHOLE * lasts_s / whole) or (1 if lasts_s > 0 else 0) for lasts_s in lengths]
    over = sum(shares) - WHOLE
    if over > 0:
        shares[shares.index(max(shares))] -= over
    return shares
