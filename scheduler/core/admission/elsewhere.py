"""Where else a call may run, once servers have failed it."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Candidate


def is_elsewhere(*, snapshot: ClusterSnapshot, candidates: Sequence[Candidate], failed: Collection[str]) -> bool:
    """Say whether any other server is there for calls and has, or can load, any of the models."""
    return any(
        server.is_open
        and candidate.may_run_on(name)
        and (candidate.model in server.warm or server.allows(candidate.model))
        for name, server in snapshot.servers.items()
        if name not in failed
        for candidate in candidates
    )


def kept_from(
    *, candidates: Sequence[Candidate], servers: Collection[str], failed: Collection[str]
) -> tuple[Candidate, ...]:
    """Bind candidates to the servers that have not failed."""
    good = frozenset(servers) - frozenset(failed)
    return tuple(
        replace(candidate, servers=good if candidate.servers is None else candidate.servers - frozenset(failed))
        for candidate in candidates
    )
