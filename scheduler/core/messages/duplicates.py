"""Sentences about servers that may be one engine under two names."""

from collections.abc import Sequence

from scheduler.core.duplicates import Duplicate
from scheduler.core.messages.wording import listed

MOST_PAIRS = 3
"""So many pairs are named where all servers are listed."""


def possible_duplicate(*, pair: Duplicate) -> str:
    """Name two servers that may be one, what they share, and what to do."""
    return (
        f"Possible duplicate endpoint: {pair.first} and {pair.second} both lead to {pair.address}, so one engine may "
        f"be counted twice. If it is one, keep one of them and merge the other into it; if a proxy there tells them "
        f"apart by their names, leave both."
    )


def more_duplicates(*, pairs: Sequence[Duplicate]) -> str:
    """Say how many pairs more there are than are named."""
    more = len(pairs) - MOST_PAIRS
    return f"{more} more {'pair' if more == 1 else 'pairs'} of servers may be one engine each." if more > 0 else ""


def cannot_merge_itself(*, server: str) -> str:
    """Say that a server is no duplicate of itself."""
    return f"{server} cannot be merged into itself: name another server."


def still_takes_calls(*, server: str) -> str:
    """Say that a server must be emptied before it is merged into another one."""
    return f"{server} still takes calls: drain it first, so that merging it cuts nothing off."


def still_at_work(*, server: str, running: int) -> str:
    """Say that something runs on a server that is to be merged into another one."""
    work = "1 call or load still runs" if running == 1 else f"{running} calls or loads still run"
    return f"{work} on {server}: merge it once it is drained."


def models_bound(*, server: str, into: str, models: Sequence[str]) -> str:
    """Say that models would lose the server they are bound to."""
    return (
        f"{listed(models)} {'is' if len(models) == 1 else 'are'} bound to {server}: change serverRef to {into} first."
    )


def was_merged(*, server: str, into: str) -> str:
    """Say what came of a merge."""
    return f"{server} was merged into {into}: it is not registered any more, and its address means {into}."


def alias_added(*, alias: str, server: str) -> str:
    """Say that a server has another address now."""
    return f"{alias} means {server} now: no second server is registered with it."


def alias_removed(*, alias: str) -> str:
    """Say that an address stands for itself again."""
    return f"{alias} stands for itself again."
