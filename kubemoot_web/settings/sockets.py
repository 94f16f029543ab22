"""Where the embedded Valkey listens."""

import hashlib
import os
import tempfile
from pathlib import Path

LONGEST_SOCKET_PATH = 100  # sockaddr_un holds 108 bytes, and Valkey needs some for itself


def socket_path(data: Path) -> Path:
    """Name the embedded Valkey's socket: in the data folder, or in a short one where its path would be too long."""
    path = data / "valkey.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"kubemoot-{os.getuid()}-{digest}" / "valkey.sock"
