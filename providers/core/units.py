"""Sizes. Engines speak of bytes; Kubemoot counts MiB, rounded up so that no sum promises memory that is not there."""

BYTES_PER_MIB = 1024 * 1024


def mib_from_bytes(size: int) -> int:
    """Turn bytes into MiB, rounded up."""
    return -(-size // BYTES_PER_MIB)
