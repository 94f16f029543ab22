"""The list of keys: what each is for and may do, when it was used last, when it ends."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubemoot_web.board.times import Moment
from scheduler.core.messages import who
from scheduler.core.types import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One key of the list. `limits` are short phrases, none where it may call everything."""

    id: str
    prefix: str
    name: str
    owner: str
    scopes: tuple[str, ...]
    limits: tuple[str, ...]
    used: Moment | None
    ends: Moment | None
    is_over: bool


def limits_of(
    *, agent: str, crew: str, crews: Sequence[str], models: Sequence[str], ceiling: str, max_calls: int | None
) -> tuple[str, ...]:
    """Say what a key is limited to, each limit as a phrase."""
    phrases = (
        f"speaks for the agent {who(agent)}" if agent else "",
        f"speaks for the crew {who(crew)}" if crew else "",
        f"crews: {', '.join(who(each) for each in crews)}" if crews else "",
        f"models: {', '.join(models)}" if models else "",
        "background only" if ceiling == Priority.BACKGROUND else "",
        _at_once(max_calls),
    )
    return tuple(phrase for phrase in phrases if phrase)


def _at_once(max_calls: int | None) -> str:
    if max_calls is None:
        return ""
    return f"{max_calls} {'call' if max_calls == 1 else 'calls'} at once"
