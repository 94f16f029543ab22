"""Pure presenters: from the replica to what programs read (documents) and what people look at (the picture)."""

from kubemoot_web.board.documents import (
    cluster_doc,
    planned_doc,
    settled_doc,
    standing_aside_doc,
    still_waiting_doc,
)
from kubemoot_web.board.times import rfc3339

__all__ = ("cluster_doc", "planned_doc", "rfc3339", "settled_doc", "standing_aside_doc", "still_waiting_doc")
