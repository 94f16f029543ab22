"""A server that is taken out because nobody knows whether its engine is at work, as people meet it."""

import pytest
from asgiref.sync import sync_to_async

from kubemoot_web.pages import looking
from scheduler import bootstrap
from scheduler.core.gate import QuarantineCause
from scheduler.core.ledger import CallEnd, GrantChange, Outcome, ServerSeen
from scheduler.core.types import Ticket, TicketState
from tests.board.views import NOON, copy
from tests.crds.documents import apply, server
from tests.pages.people import BROWSER, person
from tests.pages.test_endpoints import ONE, post, text

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
WHY = (
    "Taken out: an answer ended here without its final mark, and nobody knows whether the engine still works on it. "
    "Nothing is placed here. It comes back 10 s after that at the earliest, when no call is left here and a probe "
    "finds it ready; or by an operator."
)


@pytest.fixture(autouse=True)
async def ledger(valkey_url, monkeypatch):
    """Give a ledger with a ready server where a call has just ended in doubt."""
    monkeypatch.setattr(looking, "KEPT_S", 0.0)
    await sync_to_async(apply)(server("gpu-1", spec="  scheduling: {quarantineOnAmbiguous: true}\n"))
    rt = await bootstrap.runtime()
    await rt.ledger.configure(servers=await rt.catalog.servers(), footprints={}, weights={})
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    seen = ServerSeen(phase="ready", ready=True, since=NOON, residents=(copy(),), models=("qwen3:14b",))
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)
    ticket = Ticket(id="t1", server="gpu-1", agent="a", model="qwen3:14b", state=TicketState.ACTIVE, started_at=NOON)
    await rt.ledger.commit(changes=[GrantChange(ticket=ticket)], now=rt.now())
    cut = Outcome(ok=False, end=CallEnd.TRUNCATED, ambiguity=QuarantineCause.INCOMPLETE_RESPONSE)
    await rt.ledger.release(ticket="t1", outcome=cut, now=rt.now())
    yield rt.ledger
    await bootstrap.close()


async def test_the_reason_and_since_when_stand_wherever_the_server_is():
    """A-28."""
    client = await person("ada", "operator")

    pages = [await client.get(page, headers=BROWSER) for page in (ONE, "/endpoints", "/servers", "/servers/gpu-1", "/")]

    for page in pages:
        assert "Taken out" in text(page)
        assert WHY in text(page)
        assert 'data-tell="since"' in page.content.decode()


async def test_an_operator_takes_it_back_with_the_button_that_is_there(ledger):
    client = await person("ada", "operator")
    assert 'value="clear-quarantine"' in (await client.get(ONE)).content.decode()

    done = await post(client, "clear-quarantine")

    assert "gpu-1 takes calls again." in text(done)
    assert ledger.replica.servers["gpu-1"].admission.is_open


async def test_the_wish_is_ticked_and_can_be_taken_back(ledger):
    client = await person("ada", "operator")
    assert 'name="doubts" aria-describedby="id_doubts_helptext" id="id_doubts" checked' in (
        (await client.get(ONE)).content.decode()
    )

    await post(client, "limits", cap="", reserve="", version="1")

    config = ledger.replica.servers["gpu-1"].config
    assert (config.quarantine_on_ambiguous, config.aborts_on_disconnect) == (False, True)
