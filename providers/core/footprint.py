"""How much accelerator memory models take: as reported, or estimated from the size on disk."""

from providers.core.types import LoadedCopy

# In memory a model takes its weights plus context and buffers: a fifth more than its file, until it was once observed.
ESTIMATE_NUMERATOR = 6
ESTIMATE_DENOMINATOR = 5


def estimate_mib(*, size_mib: int) -> int:
    """Estimate the footprint of a model that was never seen loaded: its size on disk times 1.2, rounded up."""
    return -(-size_mib * ESTIMATE_NUMERATOR // ESTIMATE_DENOMINATOR)


def accelerator_percent(copy: LoadedCopy) -> int:
    """Say how much of a copy runs from accelerator memory, in whole percent; the rest runs from host memory."""
    on_accelerator = copy.footprint_mib or 0
    total = on_accelerator + copy.host_mib
    return 0 if total == 0 else round(100 * on_accelerator / total)
