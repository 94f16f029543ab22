"""Endpoints that are taken out because nobody knows whether their engines are at work, over REST, on a real ledger."""

import pytest

from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from tests.crds.documents import bundle, model, server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]

WISH = "  scheduling: {memoryMiB: 32768, quarantineOnAmbiguous: true}\n"
WHY = "a call timed out here after it was sent, and nobody knows whether the engine still works on it"


@pytest.fixture
async def robot(caller):
    """Give a program with every scope, and a server that holds qwen3:14b and is taken out in doubt."""
    robot = await caller("read", "call", "write")
    applied = await robot.apply(bundle(server("gpu-1", spec=WISH), model("middle", "qwen3:14b", vram=10240)))
    assert applied.status_code == 200, applied.content
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    seen = ServerSeen(
        phase="ready",
        ready=True,
        since=rt.now(),
        residents=(Resident(model="qwen3:14b", footprint_mib=10240),),
        models=("qwen3:14b",),
    )
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)
    return robot


async def ended(robot, **outcome):
    """Claim a ticket, and give it back."""
    claimed = (await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})).json()
    return await robot.delete(f"/tickets/{claimed['id']}", outcome)


async def test_a_holder_that_does_not_know_what_its_engine_does_takes_the_server_out_and_pages_say_why(robot):
    """A-28."""
    assert (await ended(robot, ok=False, ambiguity="ambiguous_timeout")).json()["released"] is True

    shown = (await robot.get("/endpoints/gpu-1/admission")).json()
    claimed = await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})

    told = {name: shown[name] for name in ("state", "takesCalls", "reason", "by", "cause", "quarantineOnAmbiguous")}
    assert told == {
        "state": "quarantined",
        "takesCalls": False,
        "reason": WHY,
        "by": "system",
        "cause": "ambiguous_timeout",
        "quarantineOnAmbiguous": True,
    }
    assert shown["since"] is not None
    assert shown["message"].startswith(f"Taken out: {WHY}. Nothing is placed here. It comes back 10 s after that")
    assert claimed.json()["message"] == "waiting for gpu-1 to take calls: qwen3:14b has no place elsewhere"


async def test_an_operator_takes_it_back_at_once_and_the_line_moves(robot):
    await ended(robot, ok=False, ambiguity="ambiguous_transport")
    waiting = (await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})).json()

    done = (await robot.post("/endpoints/gpu-1/clear-quarantine")).json()

    assert (done["changed"], done["state"], done["cause"], done["reason"]) == (True, "open", None, None)
    assert (await robot.get(f"/waiters/{waiting['waiter']}?wait=0")).status_code == 200


async def test_the_wish_is_set_with_the_other_limits_and_without_it_nothing_is_taken_out(robot):
    put = (await robot.put("/endpoints/gpu-1/admission", {"quarantineOnAmbiguous": False})).json()

    await ended(robot, ok=False, ambiguity="incomplete_response")

    assert (put["quarantineOnAmbiguous"], put["resourceVersion"]) == (False, "2")
    assert (await robot.get("/endpoints/gpu-1/admission")).json()["state"] == "open"


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        ({"ok": True, "ambiguity": "ambiguous_timeout"}, "ambiguity is for calls that did not go well"),
        ({"ok": False, "ambiguity": "silent"}, "ambiguous_timeout"),
        ({"ok": False, "ambiguity": "worker_terminated"}, "ambiguous_timeout"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_the_ticket_stays(robot, outcome, says):
    answer = await ended(robot, **outcome)

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert len((await bootstrap.runtime()).ledger.replica.tickets) == 1
