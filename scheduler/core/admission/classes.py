"""The class of a call, from what it is for (admission.md, A-40)."""

from enum import StrEnum

from scheduler.core.types import Priority


class Purpose(StrEnum):
    """What a call is for: a coarse word that may stand in every log and metric."""

    INTERACTIVE_TURN = "interactive_turn"
    TRIAGE = "triage"
    MULLING = "mulling"
    SYNTHESIS = "synthesis"
    ROUTER = "router"
    VISION = "vision"
    SUMMARIZATION = "summarization"
    MEMORY = "memory"
    HEARTBEAT = "heartbeat"
    CRON_JOB = "cron_job"
    SOP_STEP = "sop_step"
    DELEGATE = "delegate"
    EMBEDDING = "embedding"
    BATCH = "batch"


INTERACTIVE = frozenset(
    {
        Purpose.INTERACTIVE_TURN,
        Purpose.TRIAGE,
        Purpose.MULLING,
        Purpose.SYNTHESIS,
        Purpose.ROUTER,
        Purpose.VISION,
    }
)


def class_of(*, purpose: Purpose | None) -> Priority:
    """Give the class that calls of a purpose have unless they say otherwise."""
    return Priority.INTERACTIVE if purpose is None or purpose in INTERACTIVE else Priority.BACKGROUND
