"""Sentences about what was: a server's events and its day, a call's parts."""

from collections.abc import Sequence

from scheduler.core.gate import AMBIGUOUS, AdmissionState, QuarantineCause
from scheduler.core.messages.admission import doubt
from scheduler.core.messages.servers import server_phase
from scheduler.core.messages.wording import WORKS_ON, listed, seconds, sentence, size, who
from scheduler.core.server_history import ServerEventKind, ServerEventRecord

CALL_PARTS = {"wait": "waited for a place", "load": "waited for the load", "run": "ran"}
ADMISSIONS = {
    AdmissionState.OPEN: "Taken back: calls are placed here again",
    AdmissionState.PAUSED: "Paused: no further call is placed here",
    AdmissionState.DRAINING: "Being drained: no further call is placed here",
    AdmissionState.QUARANTINED: "Taken out: no further call is placed here",
}
CALL_PARTS_NOW = {"wait": "waits for a place", "load": "waits for the load", "run": "runs"}


def server_event(*, event: ServerEventRecord) -> str:
    """Tell one thing that happened on a server."""
    match event.kind:
        case ServerEventKind.LOAD_STARTED:
            room = f" in place of {listed(event.evicts)}" if event.evicts else ""
            return f"Began to load {event.model}{room}{f' for {who(event.agent)}' if event.agent else ''}."
        case ServerEventKind.LOAD_DONE:
            return f"Loaded {event.model}{f' in {seconds(event.took_s)}' if event.took_s else ''}."
        case ServerEventKind.LOAD_FAILED:
            return f"Loading {event.model} failed. {sentence(event.detail)}".strip()
        case ServerEventKind.VICTIM_GONE:
            return f"Unloaded {event.model}."
        case ServerEventKind.PROBED:
            return f"{server_phase(phase=event.phase)}. {sentence(event.detail)}".strip()
        case ServerEventKind.REGISTERED:
            return "Registered."
        case ServerEventKind.CONFIGURED:
            return "Its settings were changed."
        case ServerEventKind.REMOVED:
            return "Taken out of the cluster."
        case ServerEventKind.ADMISSION:
            is_doubt = event.detail in AMBIGUOUS
            why = doubt(cause=QuarantineCause(event.detail)) if is_doubt else event.detail
            return f"{ADMISSIONS[AdmissionState(event.phase)]}. {sentence(why)}".strip()
        case ServerEventKind.CIRCUIT_OPENED:
            return "Calls failed here: nothing is placed here for a while, then one call tries it."
        case ServerEventKind.CIRCUIT_CLOSED:
            return "A call was answered well: calls are placed here again."


def quiet_day() -> str:
    """Say that nothing is known of a server's day."""
    return "Nothing has happened here yet. Loads, unloads and calls are drawn as they come."


def day_summary(
    *, most_mib: int | None, most_calls: int, loads: int, unloads: int, failures: int, away_s: float
) -> str:
    """Sum up a server's day in a sentence, for whoever does not see the picture. None: nobody knows what was held."""
    parts = [
        *([] if most_mib is None else [f"at most {size(most_mib)} held"]),
        f"{_counted(most_calls, 'call')} at once at the most",
        _counted(loads, "load"),
        _counted(unloads, "unload"),
    ]
    if failures:
        parts.append(f"{failures} failed {'load' if failures == 1 else 'loads'}")
    if away_s >= 1:
        parts.append(f"not ready for {seconds(away_s)}")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def model_rests(*, model: str, problem: str) -> str:
    """Say that a model's loads rest on a server, and why."""
    return f"Loading {model} rests here. {sentence(problem)}".strip()


def nothing_refused() -> str:
    """Say that a server turned nothing away."""
    return "Nothing was refused here in the last day."


def call_part(*, part: str, is_going_on: bool, is_left: bool = False) -> str:
    """Name a part of a call; `is_left`: it goes on, though its caller has left."""
    if is_left:
        return WORKS_ON
    return (CALL_PARTS_NOW if is_going_on else CALL_PARTS)[part]


def call_bar(*, parts: Sequence[tuple[str, float]]) -> str:
    """Tell a call's parts in a sentence, for whoever does not see the bar."""
    return ", ".join(f"{CALL_PARTS[part]} {seconds(lasts_s)}" for part, lasts_s in parts)


def not_written_yet() -> str:
    """Say that a call has just come in."""
    return "This call has just come in; what is known of it grows within a second."


def weighed_at_selection() -> str:
    """Say of a call that took a held place when its options were weighed."""
    return "It took the place that was held for it: this was weighed when its agent was selected."


def nothing_weighed() -> str:
    """Say why a decision has no options."""
    return "There was nothing to weigh: no GPU had room that could be used."


def filter_not_understood(*, name: str, value: str) -> str:
    """Say that a filter in the address is not used."""
    return f"{name}={value} is not understood, so it is not used."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
