"""`GET /cluster`: the live picture."""

from typing import Any

from ninja import Router

from kubemoot_web.access import AuthedRequest
from kubemoot_web.board import cluster_doc
from scheduler import bootstrap

router = Router()


@router.get("", summary="The live picture of every server, waiter and demand")
async def show(request: AuthedRequest) -> dict[str, Any]:
    """Show every server with its memory, residents, tickets and drain, everybody who waits, and the demand."""
    request.auth.require("read")
    rt = await bootstrap.runtime()
    return cluster_doc(replica=rt.ledger.replica, config=rt.config, now=rt.now())
