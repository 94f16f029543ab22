"""Sentences about servers that may be one engine under two names."""

from collections.abc import Sequence

from scheduler.core.duplicates import Duplicate

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
