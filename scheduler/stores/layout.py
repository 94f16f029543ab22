"""Which form the ledger's keys and documents have, and what becomes of another version's.

House rules: `LAYOUT` is raised with every change of a key, of its type, or of a document's fields; a test holds the
form that belongs to the number. The ledger is the living moment only, so nothing is carried over: keys of another
layout are removed, and everything begins afresh.
"""

import logging

from redis.exceptions import ResponseError

from scheduler.stores.ledger_functions import OWN, library
from scheduler.stores.link import Link

log = logging.getLogger(__name__)

LAYOUT = 11
PAGE = 1000


def root_of(*, name: str) -> str:
    """Name the root key of a ledger. The braces keep all of its keys in one hash slot; the layout keeps them apart."""
    return f"km:{{{name}}}:{LAYOUT}"


async def clear_other_layouts(*, link: Link, name: str) -> int:
    """Remove what a version with another layout left behind, and say so; give how many keys that were.

    All keys are looked through only when the last version that ran here had another layout.

    Raises:
        LedgerUnavailable: the server cannot be reached.
    """
    mark = f"km:{{{name}}}:layout"
    if await link.call("GET", mark) == str(LAYOUT).encode():
        return 0
    removed = 0
    cursor = b"0"
    while True:
        cursor, found = await link.call("SCAN", cursor, "MATCH", f"km:{{{name}}}:*", "COUNT", PAGE)
        # A process that started a moment earlier may be at work already: what is of this layout stays.
        others = [
            key for key in found if key != mark.encode() and not key.startswith(f"{root_of(name=name)}:".encode())
        ]
        if others:
            removed += await link.call("UNLINK", *others)
        if cursor == b"0":
            break
    await link.call("SET", mark, LAYOUT)
    if removed:
        log.warning(
            "ledger_begins_afresh layout=%s keys_removed=%s: another version of Kubemoot left tickets, waits and loads "
            "in a form that this one does not read. They were of the moment: what is registered and the history of "
            "calls lie in the database and stay.",
            LAYOUT,
            removed,
        )
    return removed


async def forget_other_libraries(*, link: Link) -> None:
    """Have the server forget the functions of other versions. One that still runs teaches it again with its next step.

    Raises:
        LedgerUnavailable: the server cannot be reached.
    """
    try:
        known = await link.call("FUNCTION", "LIST", "LIBRARYNAME", f"{OWN}*")
        for name in (fields[fields.index(b"library_name") + 1] for fields in known):
            if name != library().name.encode():
                await link.call("FUNCTION", "DELETE", name)
    except ResponseError as problem:  # it may know no functions, or allow no lists: the first step tells that better
        log.debug("ledger_libraries_unknown problem=%s", problem)
