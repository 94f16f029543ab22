"""How durations, sizes and lists are written in every sentence, and what is said in more than one place."""

from collections.abc import Sequence

from providers.core.naming import DEFAULT_NAMESPACE

WORKS_ON = "its caller has left; the engine works on"
FEW = 3


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


def sentence(text: str) -> str:
    """End what an engine or a driver said the way sentences end, and begin it so."""
    text = text.strip()
    if not text:
        return ""
    text = text if text[-1] in ".!?" else f"{text}."
    return text if text.startswith(("GET ", "POST ")) else text[0].upper() + text[1:]


def listed(names: Sequence[str]) -> str:
    """Write a list the way people say it."""
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def some_of(names: Sequence[str]) -> str:
    """Write a list of which the first few are enough."""
    return listed(names if len(names) <= FEW else [*names[:FEW], f"{len(names) - FEW} more"])


def who(name: str) -> str:
    """Write an agent's or a crew's name the way people say it: bare in the default namespace."""
    return name.removeprefix(f"{DEFAULT_NAMESPACE}/")
