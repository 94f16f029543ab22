"""Sentences about servers whose calls go on while the ledger cannot be reached, by each process's own count."""

from collections.abc import Sequence

from scheduler.core.messages.wording import listed

MOST_NAMES = 3


def goes_on_silently(*, servers: Sequence[str], running: int, waiting: int) -> str:
    """Say that the picture may be old, and which servers this process lets calls in to all the same."""
    names = [*servers[:MOST_NAMES]]
    if len(servers) > MOST_NAMES:
        names.append(f"{len(servers) - MOST_NAMES} more")
    waits = f", {waiting} {'waits' if waiting == 1 else 'wait'}" if waiting else ""
    return (
        f"Redis does not answer, so what you see may be old. Cap not shared: calls go on to {listed(names)}, as many "
        f"as this web process alone lets in ({_runs(running)}{waits}); elsewhere none is placed. "
        f"This goes away by itself when Redis is back."
    )


def cap_not_shared(*, is_on: bool, running: int) -> str:
    """Say that a server's cap is not shared by all processes now, or not yet again; nothing where it is."""
    if is_on:
        return (
            f"Cap not shared: while Redis does not answer, each web process lets calls in by its own count "
            f"({_runs(running)} by this one's)."
        )
    if running:
        return f"Cap not shared yet: {_runs(running)} here that began without Redis, beside those that are counted."
    return ""


def _runs(count: int) -> str:
    return f"{count} {'call runs' if count == 1 else 'calls run'}"
