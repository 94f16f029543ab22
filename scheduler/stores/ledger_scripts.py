"""The ledger's scripts: read from `lua/`, each with what is put before it, and known to the server by their digest."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "lua"
SHARED = ("prelude", "moves")
BEFORE = {
    "commit": ("facts", "learning", "quarantine"),
    "reap": ("quarantine",),
    "admission_set": ("quarantine",),
}
"""What only some scripts need: a script makes everything before it anew with each call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script's text, and the digest by which a server that has seen it once knows it."""

    name: str
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """Read a script; its head comment says what KEYS, ARGV and result are."""
    parts = (*SHARED, *BEFORE.get(name, ()), name)
    return _script(name, "".join((FOLDER / f"{part}.lua").read_text(encoding="utf-8") for part in parts))


def _script(name: str, text: str) -> Script:
    return Script(name=name, text=text, sha=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


NOTHING = _script("nothing", "return 1")
