"""Sentences about calls: what they wait for, how they stand, how they ended."""

from scheduler.core.decisions import Reason
from scheduler.core.messages.wording import seconds

CALL_STATES = {
    "waiting": "waiting",
    "loading": "loading",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "lapsed": "lost its place",
    "stood_aside": "stood aside",
    "given_up": "gave up",
}


def waiting_count(*, count: int) -> str:
    """Say how many calls wait."""
    match count:
        case 0:
            return "Nobody waits."
        case 1:
            return "1 call waits."
        case _:
            return f"{count} calls wait."


def nobody_waits() -> str:
    """Say kindly that the line is empty."""
    return "Every call has its place. Whoever has to wait for a GPU appears here, with its turn and what it waits for."


def more_wait(*, count: int) -> str:
    """Say how many waiters are not shown."""
    return f"and {count} more behind them"


def estimate(*, eta_s: float | None) -> str:
    """Say how long a wait still takes."""
    return "no estimate yet" if eta_s is None else f"about {seconds(eta_s)} to go"


def waiting_for(*, model: str) -> str:
    """Say what an agent waits for."""
    return f"waiting for a GPU with room for {model}"


def asking() -> str:
    """Say that an agent's call has just come in."""
    return "waiting to be placed"


def queued_on(*, model: str, server: str) -> str:
    """Say whose slot an agent waits for."""
    return f"waiting for a free slot of {model} on {server}"


def loading_on(*, model: str, server: str) -> str:
    """Say which load a granted call waits for."""
    return f"waiting for {model} to load on {server}"


def stood_aside(*, reason: str, model: str) -> str:
    """Say why a call got no place, and what would help."""
    match reason:
        case Reason.MODEL_TOO_LARGE:
            return (
                f"No server can hold {model}. Register a server with more memory or with the model on disk, "
                f"or let the policy accept a smaller model."
            )
        case Reason.PROMPT_TOO_LARGE:
            return (
                f"The prompt is longer than the context {model} has on any server. Shorten it, or raise contextLength "
                f"on a server with memory to spare."
            )
        case _:
            return (
                f"Every GPU with room for {model} stayed busy until the waiting limit. Try again later, raise the "
                f"agent's limit, or add a server."
            )


def call_state(*, state: str, lasted_s: float | None = None) -> str:
    """Say where a call is, or how it ended and after how long."""
    word = CALL_STATES.get(state, state)
    return word if lasted_s is None else f"{word} after {seconds(lasted_s)}"
