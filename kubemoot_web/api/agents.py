"""`/agents/.../ranking`: which models an agent may use, and why."""

from typing import Any

from asgiref.sync import sync_to_async
from ninja import Router

from kubemoot_web.access import AuthedRequest
from scheduler import queries

router = Router()


@router.get("/{namespace}/{name}/ranking", summary="The ranked candidates of an agent, with why")
async def ranking(request: AuthedRequest, namespace: str, name: str) -> dict[str, Any]:
    """Show the candidates per phase, preferred first, each with its score's reason, and why there are none if so."""
    request.auth.require("read")
    status = await sync_to_async(queries.agent_ranking)(f"{namespace}/{name}")
    scheduling = status.get("scheduling") or {}
    return {
        "agent": f"{namespace}/{name}",
        "phase": status.get("phase"),
        "mulling": scheduling.get("mulling") or [],
        "triage": scheduling.get("triage") or [],
        "conditions": status.get("conditions") or [],
    }
