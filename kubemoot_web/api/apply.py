"""`/apply`: many documents at once, all or nothing."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.conf import settings
from ninja import Query, Router

from kubemoot_web.access import AuthedRequest
from kubemoot_web.crds.bundle import decoded
from kubemoot_web.crds.importing import bundle_apply
from scheduler import bootstrap

BODY = "request body"
MANY_DOCUMENTS = {
    "requestBody": {
        "required": True,
        "description": "YAML documents separated by `---`, or JSON",
        "content": {
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}

router = Router()


@router.post("", openapi_extra=MANY_DOCUMENTS, summary="Apply many documents, all or none")
async def apply(
    request: AuthedRequest,
    dry_run: Annotated[Literal["", "0", "false", "1", "true", "All"], Query(alias="dryRun")] = "",
) -> dict[str, Any]:
    """Create or replace every object of the body, or none when any is wrong, and say of each what became of it.

    With `?dryRun=1` nothing is changed and the answer says what would be.
    """
    request.auth.require("write")
    imported = await bundle_apply(
        sources=[decoded(file=BODY, data=request.body)],
        dry_run=dry_run in ("1", "true", "All"),
        node=settings.KUBEMOOT.node,
        now=bootstrap.clock(),
        changed=bootstrap.resources_changed,
    )
    return {"dryRun": imported.dry_run, "results": [asdict(diff) for diff in imported.diffs]}
