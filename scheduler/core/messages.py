"""Every sentence about scheduling that a person reads. It names the thing, what happened, and what to do."""

from scheduler.core.decisions import Option, Reason, Verdict


def seconds(value: float) -> str:
    """Write a duration the way people say it."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min"


def waiting_for(*, model: str) -> str:
    """Say what an agent waits for."""
    return f"waiting for a GPU with room for {model}"


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


def option_sentence(*, option: Option) -> str:
    """Say what an option would have been and how it ended."""
    return f"{_what(option)}: {_how(option.verdict)}"


def _what(option: Option) -> str:
    cost = "" if option.cost_s is None else f" ({seconds(option.cost_s)})"
    match option.action:
        case "use":
            return f"{option.model} is loaded on {option.server} with a free slot"
        case "join":
            return f"{option.model} is loading on {option.server}{cost}"
        case "queue":
            return f"wait for a slot of {option.model} on {option.server}{cost}"
        case "evict":
            return f"unload {', '.join(option.evicts)} on {option.server} and load {option.model}{cost}"
        case _:
            return f"load {option.model} on {option.server}{cost}"


def _how(verdict: Verdict) -> str:
    match verdict:
        case Verdict.CHOSEN:
            return "chosen"
        case Verdict.TIED:
            return "costs the same, but the tie goes to the simpler choice"
        case Verdict.OTHER_COPY_FIRST:
            return "another copy is less busy, heavier weighted or not spilling"
        case _:
            return "would take longer"
