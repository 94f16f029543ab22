"""`/waiters`: long-polling a wait, and leaving the line."""

from typing import Annotated, Any

from ninja import Query, Router, Status
from pydantic import Field

from kubemoot_web.access import AuthedRequest
from kubemoot_web.api.ownership import require_own
from kubemoot_web.api.tickets import MAX_WAIT_S, answer
from scheduler import bootstrap
from scheduler.services.submit import call_give_up, call_wait

router = Router()


@router.get("/{waiter}", response={200: dict, 202: dict, 409: dict}, summary="Wait for the end of a wait")
async def look(
    request: AuthedRequest, waiter: str, wait: Annotated[float, Query(), Field(ge=0, le=MAX_WAIT_S)] = 0
) -> Status[dict[str, Any]]:
    """Answer 200 with the ticket once granted, 202 while it still waits after `wait` seconds, 409 when it stood aside.

    A wait that nobody asks for ends after the waiter's lease (30 s by default); then this answers 404.
    """
    request.auth.require("call")
    rt = await bootstrap.runtime()
    await require_own(principal=request.auth, ledger=rt.ledger, id=waiter)
    settled = await call_wait(ledger=rt.ledger, config=rt.config, now=rt.now, waiter=waiter, wait_s=wait)
    return answer(rt=rt, settled=settled, created=200)


@router.delete("/{waiter}", summary="Give up a wait")
async def leave(request: AuthedRequest, waiter: str) -> dict[str, Any]:
    """Leave the line. A wait that is over already stays over: `ended` is then false, and nothing changed."""
    request.auth.require("call")
    rt = await bootstrap.runtime()
    await require_own(principal=request.auth, ledger=rt.ledger, id=waiter)
    ended = await call_give_up(ledger=rt.ledger, effects=rt.effects, config=rt.config, waiter=waiter, now=rt.now())
    return {"id": waiter, "ended": ended}
