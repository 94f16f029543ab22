"""What `/api/show` says of a model."""

import json

from kubemoot_web.gateway.listing import ollama_show
from scheduler.bootstrap import Runtime


async def described(*, rt: Runtime, model: str) -> bytes | None:
    """Describe a model: in Ollama's own words, else by what is known of it here; None where no server has it now."""
    body = await rt.shown.show(replica=rt.ledger.replica, model=model)
    if body is not None:
        return body
    known = ollama_show(servers=rt.ledger.replica.servers.values(), model=model)
    return None if known is None else json.dumps(known).encode()
