"""Element ids from names."""


def dom_id(kind: str, name: str) -> str:
    """Make the element id of a named thing: `server-gpu-1`.

    Letters, digits and dashes stay; every other character becomes its code between underscores. Two names can never
    share an id, and an id never needs escaping, in HTML or in a selector.
    """
    return f"{kind}-" + "".join(c if (c.isascii() and c.isalnum()) or c == "-" else f"_{ord(c):x}_" for c in name)
