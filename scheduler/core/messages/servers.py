"""Sentences about servers: how they are, their memory, their models, who holds a place there."""

from collections.abc import Sequence

from scheduler.core.messages.wording import WORKS_ON, listed, seconds, sentence, size, who

PHASES = {
    "pending": "Not probed yet",
    "ready": "Ready",
    "degraded": "Ready, but loads hang",
    "stale": "Not answering",
    "failing": "Answers wrongly",
    "unreachable": "Unreachable",
}
COMES_BACK = "Nothing is placed here; it comes back by itself."


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
            return f"{sentence(detail)} What is loaded here is still used.".strip()
        case _:
            return f"{sentence(detail)} {COMES_BACK}".strip()


def loads_rest(*, models: Sequence[str], problem: str) -> str:
    """Say which loads failed on a server and are not tried again for a while."""
    return f"Loading {listed(models)} failed here and is tried again soon. {sentence(problem)}".strip()


def memory_unknown() -> str:
    """Say that a server has no memory budget, and what to do."""
    return "Memory unknown: set scheduling.memoryMiB. What is loaded here is used; nothing else is loaded."


def all_in_memory() -> str:
    """Say that a server's memory decides nothing, for there is nothing more to load."""
    return "All its models are in memory"


def size_unknown(*, models: Sequence[str]) -> str:
    """Say that a model's size is not known, so that free memory is not either."""
    return f"The size of {listed(models)} is not known yet, so free memory is not either. Nothing is loaded here."


def over_committed(*, held_mib: int, usable_mib: int) -> str:
    """Say that models hold more of a server than they may."""
    return (
        f"Over-committed: models hold {size(held_mib)} where {size(usable_mib)} may be used. "
        f"Nothing is loaded here until some of it is free."
    )


def memory_in_use(*, held_mib: int, total_mib: int) -> str:
    """Say how much of a server's memory models hold."""
    return f"{size(held_mib)} of {size(total_mib)} held by models"


def memory_free(*, free_mib: int | None) -> str:
    """Say how much of a server's memory models may still take."""
    return "free memory unknown" if free_mib is None else f"{size(free_mib)} free"


def last_seen(*, phase: str) -> str:
    """Say from when that is what is told of a server which does not answer now."""
    return "What it holds is not known yet." if phase == "pending" else "When it last answered:"


def spilling(*, accelerator_percent: int | None) -> str:
    """Say that a copy does not fit the GPU, and how much of it does where that is known."""
    if accelerator_percent is None:
        return "partly in host memory, slower"
    return f"{accelerator_percent} % on the GPU, the rest in host memory, slower"


def being_unloaded() -> str:
    """Say that a copy has to go."""
    return "being unloaded"


def slots_used(*, used: int, slots: int) -> str:
    """Say how many calls a copy serves at once, and how many of these places are taken."""
    return f"{used} of {slots} {'slot' if slots == 1 else 'slots'} used"


def loading() -> str:
    """Say that a load is under way."""
    return "loading"


def not_loaded() -> str:
    """Say that calls hold places for a model that is neither in memory nor on its way."""
    return "not in memory, no load yet"


def making_room(*, victims: Sequence[str]) -> str:
    """Say what leaves for a load."""
    return f"takes the place of {listed(victims)}"


def draining_for(*, agent: str, model: str, victims: Sequence[str]) -> str:
    """Say for whom a server is emptied."""
    leaving = f" No new calls on {listed(victims)} until then." if victims else ""
    return f"Being emptied for {who(agent)}, who waits for {model}.{leaving}"


def ledger_silent() -> str:
    """Say that the picture may be old, and what to look at."""
    return (
        "Redis does not answer, so what you see may be old. Calls are not placed meanwhile; "
        "this goes away by itself when Redis is back."
    )


def load_late(*, estimate_s: float) -> str:
    """Say that a load has outlived its estimate."""
    return f"takes longer than the {seconds(estimate_s)} estimated"


def place_state(*, state: str, is_left: bool = False) -> str:
    """Say what a slot is taken for, where the model is named beside it; `is_left`: for nobody any more."""
    if is_left:
        return WORKS_ON
    match state:
        case "planned":
            return "held for its call"
        case "loading":
            return "runs once it is loaded"
        case _:
            return "runs"


def slots_free(*, count: int, is_idle: bool) -> str:
    """Say how many slots of a copy are free; idle, it may go when others need room."""
    if not count:
        return ""
    return f"{count} free {'slot' if count == 1 else 'slots'}{', idle' if is_idle else ''}"


def slots_capped(*, count: int, room: int, group: str) -> str:
    """Say how many free slots of a copy nobody gets: the server, or the group named, takes only `room` calls more."""
    if not count:
        return ""
    slots = "1 free slot stays" if count == 1 else f"{count} free slots stay"
    more = f"only {room} more {'call' if room == 1 else 'calls'}" if room else "no more calls now"
    return f"{slots} empty: the {f'resource group {group}' if group else 'server'} takes {more}"


def slot_queue(*, count: int) -> str:
    """Say, beside a copy and its slots, how many calls wait for one."""
    if not count:
        return ""
    return f"{count} {'call waits' if count == 1 else 'calls wait'}"


def server_doing(*, running: int, held: int, loading: int, cap: int | None) -> str:
    """Say in one line what a server does, and how many calls it takes at once where that has a cap."""
    parts = (
        f"{running} running" if running else "",
        f"{loading} loading" if loading else "",
        f"{held} held" if held else "",
    )
    doing = ", ".join(part for part in parts if part) or "idle"
    return doing if cap is None else f"{doing}, cap {cap}"
