"""Sentences about servers that take no calls although they are there: why, since when, and what ends it."""

from collections.abc import Sequence

from scheduler.core.messages.wording import listed, seconds

MOST_NAMES = 3


def waiting_for_servers(*, model: str, servers: Sequence[str]) -> str:
    """Say that a call waits for servers to take calls again, because its model has no place anywhere else."""
    names = [*servers[:MOST_NAMES]]
    if len(servers) > MOST_NAMES:
        names.append(f"{len(servers) - MOST_NAMES} more")
    return f"waiting for {listed(names)} to take calls again: {model} has no place elsewhere"


def circuit_rests(*, failures: int, status: int | None, rests_s: float) -> str:
    """Say that calls failed on a server in a row, and for how much longer it rests."""
    said = f", the last with HTTP {status}" if status is not None else ""
    return (
        f"{failures} calls in a row failed here{said}. Nothing is placed here for another {seconds(rests_s)}; "
        "then one call tries it."
    )


def circuit_tried(*, failures: int) -> str:
    """Say that after a rest one call may try a server, or does."""
    return f"{failures} calls in a row failed here. One call tries it; others wait for how that ends."
