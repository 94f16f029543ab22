"""What an operator may do to an endpoint, and which of that makes sense in which state."""

from collections.abc import Mapping
from enum import StrEnum

from scheduler.core.gate import AdmissionState


class Step(StrEnum):
    """One thing to do to an endpoint, as the API and the page call it."""

    PAUSE = "pause"
    RESUME = "resume"
    DRAIN = "drain"
    QUARANTINE = "quarantine"
    CLEAR_QUARANTINE = "clear-quarantine"
    CLEAR_QUEUE = "clear-queue"


MAKES_SENSE: Mapping[AdmissionState, tuple[Step, ...]] = {
    AdmissionState.OPEN: (Step.PAUSE, Step.DRAIN, Step.QUARANTINE),
    AdmissionState.PAUSED: (Step.RESUME, Step.DRAIN, Step.QUARANTINE),
    AdmissionState.DRAINING: (Step.RESUME, Step.PAUSE, Step.QUARANTINE),
    AdmissionState.QUARANTINED: (Step.CLEAR_QUARANTINE,),
}


def steps_of(*, state: AdmissionState, waiting: int) -> tuple[Step, ...]:
    """List what an operator may want to do now; `waiting` would be sent away with the queue."""
    return (*MAKES_SENSE[state], Step.CLEAR_QUEUE) if waiting else MAKES_SENSE[state]
