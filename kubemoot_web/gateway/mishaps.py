"""What goes wrong inside the gateway is written to the log: where it happened, never the words of the error.

An error may quote what it stumbled over, and here that is somebody's prompt or answer.
"""

import logging
import traceback

log = logging.getLogger(__name__)


def note_mishap(error: Exception) -> None:
    """Write down what kind of error it is, and the way to it."""
    way = "".join(traceback.format_tb(error.__traceback__))
    log.error("a call failed inside the gateway: %s\n%s", type(error).__name__, way)
