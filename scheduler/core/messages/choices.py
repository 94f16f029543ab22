"""Sentences about decisions: what a call got and why, and why the other options lost."""

from collections.abc import Sequence

from scheduler.core.decisions import Option, Verdict
from scheduler.core.messages.wording import listed, seconds


def call_placed(
    *, action: str, model: str, server: str, evicts: Sequence[str] = (), cost_s: float | None = None
) -> str:
    """Say what was decided for a call, and on what ground."""
    about = "" if not cost_s else f", about {seconds(cost_s)}"
    match action:
        case "use":
            return f"uses {model} on {server}: loaded, with a free slot"
        case "join":
            return f"shares the load of {model} on {server} that is under way{about}"
        case "queue":
            return f"queues for {model} on {server}: the soonest place{about}"
        case "load":
            return f"loads {model} on {server} into free memory{about}"
        case "evict":
            return f"loads {model} on {server} in place of {listed(evicts)}, which nobody needs now{about}"
        case "wait":
            return f"waits: no GPU with room for {model} can take it now"
        case _:
            return f"asks for {model}" if model else "asks for a place"


def option_sentence(*, option: Option) -> str:
    """Say what an option would have been and how it ended."""
    return f"{_what(option)}: {_how(option.verdict)}"


def option_name(*, action: str, model: str, server: str, evicts: Sequence[str] = ()) -> str:
    """Name an option in a few words, for a row whose cost stands beside it."""
    match action:
        case "use":
            return f"use {model} on {server}"
        case "join":
            return f"share the load of {model} on {server}"
        case "queue":
            return f"queue for {model} on {server}"
        case "evict":
            return f"load {model} on {server}, without {listed(evicts)}"
        case _:
            return f"load {model} on {server}"


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
