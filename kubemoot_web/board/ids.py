"""Element ids from names, and the order in which people list names."""

import re

DIGITS = re.compile(r"([0-9]+)")


def dom_id(kind: str, name: str) -> str:
    """Make the element id of a named thing: `server-gpu-1`.

    Letters, digits and dashes stay; every other character becomes its code between underscores. Two names can never
    share an id, and an id never needs escaping, in HTML or in a selector.
    """
    return f"{kind}-" + "".join(c if (c.isascii() and c.isalnum()) or c == "-" else f"_{ord(c):x}_" for c in name)


def natural(name: str) -> list[tuple[int, str]]:
    """Make the key by which people sort: gpu-2 comes before gpu-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in DIGITS.split(name) if part]
