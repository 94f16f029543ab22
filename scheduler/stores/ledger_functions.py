"""The ledger's functions: one library made of the files in `lua/`, known to the server by its digest.

The server makes a library's code once. A script would be made anew with each call: that took a third of a claim.
"""

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
"""What only some functions need."""
OWN = "kubemoot_"
"""What the names of our libraries begin with, whichever version made them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library's name, which its text alone decides, and the text by which a server learns it."""

    name: str
    text: str

    def function(self, name: str) -> str:
        """Give the name by which the server knows a function: no two libraries may have one of the same name."""
        return f"{self.name}_{name}"


@cache
def library() -> Library:
    """Read the library. The head comment of a function's file says what its KEYS, ARGV and result are."""
    parts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.lua"))}
    before = {part for parts_before in BEFORE.values() for part in parts_before}
    blocks = [parts[name] for name in SHARED]
    for name in parts:
        if name not in SHARED and name not in before:  # in a block of its own: a chunk may have 200 local names at most
            blocks.append("".join(("do\n", *(parts[part] for part in BEFORE.get(name, ())), parts[name], "end\n")))
    code = "".join(blocks)
    name = OWN + hashlib.sha1(code.encode(), usedforsecurity=False).hexdigest()
    return Library(name=name, text=f"#!lua name={name}\nlocal PREFIX = '{name}_'\n{code}")
