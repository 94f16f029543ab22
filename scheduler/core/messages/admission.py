"""Sentences about servers that take no calls although they are there: why, since when, and what ends it."""

from collections.abc import Sequence

from scheduler.core.gate import Admission, QuarantineCause
from scheduler.core.messages.wording import listed, seconds

MOST_NAMES = 3


def waiting_for_servers(*, model: str, servers: Sequence[str]) -> str:
    """Say that a call waits for servers to take calls, because its model has no place anywhere else."""
    names = [*servers[:MOST_NAMES]]
    if len(servers) > MOST_NAMES:
        names.append(f"{len(servers) - MOST_NAMES} more")
    return f"waiting for {listed(names)} to take calls: {model} has no place elsewhere"


def paused(*, reason: str) -> str:
    """Say that an operator keeps calls from a server."""
    return f"Paused{_why(reason)} What runs here goes on; nothing new is placed here until it is resumed."


def draining(*, reason: str, running: int) -> str:
    """Say that an operator lets a server run empty, and whether it has."""
    if not running:
        return f"Drained{_why(reason)} Nothing runs here; it takes calls again once it is resumed."
    return f"Being drained{_why(reason)} {running} still {'runs' if running == 1 else 'run'} here; nothing new comes."


def quarantined(*, reason: str, by_operator: bool) -> str:
    """Say that a server was taken out for how its engine behaves, and what brings it back."""
    back = "An operator takes it back." if by_operator else "It comes back when its engine answers, or by an operator."
    return f"Taken out{_why(reason)} Nothing is placed here. {back}"


DOUBTS = {
    QuarantineCause.AMBIGUOUS_TIMEOUT: "a call timed out here after it was sent",
    QuarantineCause.AMBIGUOUS_TRANSPORT: "the connection of a call broke here after it was sent",
    QuarantineCause.INCOMPLETE_RESPONSE: "an answer ended here without its final mark",
    QuarantineCause.WORKER_TERMINATED: "nobody has heard any more of whoever held a call here",
}


def doubt(*, cause: QuarantineCause) -> str:
    """Say what left in doubt whether an engine is at work."""
    return f"{DOUBTS[cause]}, and nobody knows whether the engine still works on it"


def reason_of(*, said: Admission) -> str:
    """Say why a server stands as it does, in the words of whoever said so; nothing where they gave none."""
    return doubt(cause=said.cause) if said.cause in DOUBTS else said.reason


def in_doubt(*, cause: QuarantineCause, rest_s: float) -> str:
    """Say that a server was taken out in doubt, and what brings it back."""
    back = f"It comes back {seconds(rest_s)} after that at the earliest, when no call is left here and a probe finds it"
    return f"Taken out: {doubt(cause=cause)}. Nothing is placed here. {back} ready; or by an operator."


def fell_silent(*, calls: int, silent_s: float) -> str:
    """Say that an engine has calls at work and says nothing any more."""
    work = "1 call is" if calls == 1 else f"{calls} calls are"
    return f"{work} at work here and nothing came for {seconds(silent_s)}, although the server answers probes"


def _why(reason: str) -> str:
    """Go on with a reason, in the words of whoever gave it."""
    return f": {reason.strip().rstrip('.')}." if reason.strip() else "."


def circuit_rests(*, failures: int, status: int | None) -> str:
    """Say that calls failed on a server in a row, and that it rests; until when stands beside it."""
    last = "the last with" if failures > 1 else "with"
    said = f", {last} HTTP {status}" if status is not None else ""
    return f"{_failed(failures)}{said}. Nothing is placed here for a while; then one call tries it."


def circuit_tried(*, failures: int) -> str:
    """Say that after a rest one call may try a server, or does."""
    return f"{_failed(failures)}. One call tries it; others wait for how that ends."


def _failed(failures: int) -> str:
    """Say what a trial follows: calls that failed, or none that did while the engine was silent."""
    match failures:
        case 0:
            return "The engine was silent, and its calls are over"
        case 1:
            return "The call that tried it failed"
        case _:
            return f"{failures} calls in a row failed here"
