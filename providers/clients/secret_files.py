"""The keys of engines: files, laid out as Kubernetes mounts Secrets, so that no key stands in a row or in the ledger.

`FOLDER/NAME/KEY` holds the key that a server's `secretRef {name: NAME, key: KEY}` means; in another namespace than
`default` it is `FOLDER/NAMESPACE/NAME/KEY`. A key that is changed there is used within seconds.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

REMEMBER_S: Final = 5.0
MOST_BYTES: Final = 8192


class SecretFiles:
    """Reads keys. What it has read it remembers for seconds; it never tells a key to anything but who asks for it."""

    def __init__(self, *, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Take where they lie; nothing need lie there yet."""
        self._folder = folder
        self._clock = clock
        self._known: dict[str, tuple[float, str | None]] = {}

    def key(self, *, secret: str) -> str | None:
        """Give the key of a secret; None where there is none, or none that fits into a header."""
        until, known = self._known.get(secret, (0.0, None))
        if self._clock() < until:
            return known
        found = self._read(secret)
        self._known[secret] = (self._clock() + REMEMBER_S, found)
        return found

    def _read(self, secret: str) -> str | None:
        parts = secret.split("/")
        if any(part in ("", ".", "..") for part in parts):
            return None
        try:
            with self._folder.joinpath(*parts).open("rb") as file:
                read = file.read(MOST_BYTES + 1)
            text = "" if len(read) > MOST_BYTES else read.decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return text if text and text.isprintable() else None
