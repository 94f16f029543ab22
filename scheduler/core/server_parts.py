"""Deltas as a ledger writes them, made into deltas as a replica reads them.

A server's document lies in four parts in the ledger, and a step tells only the parts that it changed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.core.ledger import ServerRecord

Delta = tuple[str, str, Any]
PARTS = {f"server:{part}": part for part in ("config", "seen", "learned", "admission")}


def whole_servers(*, servers: Mapping[str, ServerRecord], deltas: Iterable[Delta]) -> list[Delta]:
    """Put changed parts together with the parts that are known; everything else stays as it is, in its order."""
    whole: list[Delta] = []
    begun: dict[str, dict[str, Any]] = {}
    for table, key, doc in deltas:
        part = PARTS.get(table)
        if part is None:
            whole.append((table, key, doc))
            continue
        if key not in begun:
            known = servers.get(key)
            begun[key] = {name: getattr(known, name) for name in PARTS.values()} if known else {}
            whole.append(("server", key, begun[key]))
        begun[key][part] = doc
    return whole
