"""Every sentence about scheduling that a person reads. It names the thing, what happened, and what to do."""

from collections.abc import Sequence

from scheduler.core.decisions import Option, Reason, Verdict

PHASES = {
    "pending": "Not probed yet",
    "ready": "Ready",
    "degraded": "Ready, but loads hang",
    "stale": "Not answering",
    "failing": "Answers wrongly",
    "unreachable": "Unreachable",
}
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
COMES_BACK = "Nothing is placed here; it comes back by itself."


def seconds(value: float) -> str:
    """Write a duration the way people say it."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min"


def size(mib: int) -> str:
    """Write an amount of memory the way people say it."""
    return f"{mib} MiB" if abs(mib) < 1024 else f"{mib / 1024:.1f} GiB"


def server_phase(*, phase: str) -> str:
    """Say how a server is, in two or three words."""
    return PHASES.get(phase, phase)


def server_problem(*, phase: str, detail: str) -> str:
    """Say what is the matter with a server and what follows from it; nothing when all is well."""
    match phase:
        case "ready":
            return ""
        case "pending":
            return "It has not been asked yet. Nothing is placed here before its first answer."
        case "degraded":
            return f"{_sentence(detail)} What is loaded here is still used.".strip()
        case _:
            return f"{_sentence(detail)} {COMES_BACK}".strip()


def loads_rest(*, models: Sequence[str], problem: str) -> str:
    """Say which loads failed on a server and are not tried again for a while."""
    return f"Loading {_and(models)} failed here and is tried again soon. {_sentence(problem)}".strip()


def memory_unknown() -> str:
    """Say that a server has no memory budget, and what to do."""
    return "Memory unknown: set scheduling.memoryMiB. What is loaded here is used; nothing else is loaded."


def size_unknown(*, models: Sequence[str]) -> str:
    """Say that a model's size is not known, so that free memory is not either."""
    return (
        f"The size of {_and(models)} is not known yet, so free memory is not either. Nothing is loaded here until then."
    )


def over_committed(*, held_mib: int, usable_mib: int) -> str:
    """Say that models hold more of a server than they may."""
    return (
        f"Over-committed: models hold {size(held_mib)} where {size(usable_mib)} may be used. "
        f"Nothing is loaded here until some of it is free."
    )


def memory_in_use(*, held_mib: int, total_mib: int) -> str:
    """Say how much of a server's memory models hold."""
    return f"{size(held_mib)} of {size(total_mib)} held by models"


def spilling() -> str:
    """Say that a copy does not fit the GPU."""
    return "partly in host memory, slower"


def being_unloaded() -> str:
    """Say that a copy has to go."""
    return "being unloaded"


def slots_used(*, used: int, slots: int) -> str:
    """Say how many calls a copy serves at once, and how many of these places are taken."""
    return f"{used} of {slots} {'slot' if slots == 1 else 'slots'} used"


def load_progress(*, rest_s: float, estimate_s: float) -> str:
    """Say how long a load still takes; the estimate is only that."""
    if rest_s > 0:
        return f"about {seconds(rest_s)} more"
    return f"takes longer than the {seconds(estimate_s)} estimated"


def making_room(*, victims: Sequence[str]) -> str:
    """Say what leaves for a load."""
    return f"takes the place of {_and(victims)}"


def ticket_state(*, state: str, model: str) -> str:
    """Say what a ticket is held for."""
    match state:
        case "planned":
            return f"selected, {model} is held for it"
        case "loading":
            return f"waits for {model} to load"
        case _:
            return f"runs on {model}"


def draining_for(*, agent: str, model: str, victims: Sequence[str]) -> str:
    """Say for whom a server is emptied."""
    leaving = f" No new calls on {_and(victims)} until then." if victims else ""
    return f"Being emptied for {agent}, who waits for {model}.{leaving}"


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
    return "no estimate yet" if eta_s is None else f"about {seconds(eta_s)}"


def ledger_silent() -> str:
    """Say that the picture may be old, and what to look at."""
    return (
        "Redis does not answer, so what you see may be old. Calls are not placed meanwhile; "
        "this goes away by itself when Redis is back."
    )


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
            return f"loads {model} on {server} in place of {_and(evicts)}, which nobody needs now{about}"
        case "wait":
            return f"waits: every GPU with room for {model} is in use"
        case _:
            return f"asks for {model}" if model else "asks for a place"


def call_state(*, state: str, lasted_s: float | None = None) -> str:
    """Say where a call is, or how it ended and after how long."""
    word = CALL_STATES.get(state, state)
    return word if lasted_s is None else f"{word} after {seconds(lasted_s)}"


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


def _sentence(text: str) -> str:
    """End what an engine or a driver said the way sentences end, and begin it so."""
    text = text.strip()
    if not text:
        return ""
    text = text if text[-1] in ".!?" else f"{text}."
    return text if text.startswith(("GET ", "POST ")) else text[0].upper() + text[1:]


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
