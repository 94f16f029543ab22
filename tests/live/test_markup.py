"""Names and words of models are text on the board, and each card is found by its own name."""

import pytest

from kubemoot_web.live.hub import Reader
from scheduler.core.call_history import CallRecord, CallState
from tests.board.views import NOON, copy, record, ticket, waiter
from tests.fakes.fed_ledger import FedLedger
from tests.live.elements import Elements

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '<div hx-get="/admin/" hx-trigger="load"></div>',
    '<div id="server-gpu-2" hx-swap-oob="true">free</div>',
    "</div></template><script>1</script>",
    'gpu"><b>',
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_markup_in_names_stays_text(hub, ledger, calls, text):
    """C83: what models and people wrote got into live pages as markup, with htmx's own attributes."""
    plain = FedLedger()
    for name in ("gpu-1", text):
        plain.put("server", name, record(name, residents=[copy(text)], seen={"phase": "failing", "detail": text}))
    plain.put("ticket", "t", ticket(server=text, agent=text, model=text))
    plain.put("waiter", "w", waiter(agent=text, crew=text, model=text))
    hub.ledger = plain
    calls.append(
        CallRecord(
            id="c1",
            agent=text,
            state=CallState.RUNNING,
            arrived_at=NOON,
            action="use",
            model=text,
            server=text,
            decision={"options": [{"why": text}, {"why": text}]},
        )
    )
    await hub.refresh()

    got = Elements(await Reader(hub=hub).next())

    assert text in got.text
    assert not got.tags & {"img", "script", "template"}
    assert not got.attributes & {"onerror", "hx-get", "hx-trigger", "src"}
    assert len(got.ids) == len(set(got.ids))


async def test_only_the_card_that_changed_is_sent_when_names_look_alike(hub):
    """C84: the same name in two namespaces, and names that differ in one sign, updated each other's cards."""
    names = ["team-a/ollama", "team-b/ollama", "team-a/gpu.1", "team-a/gpu-1"]
    ledger = FedLedger()
    for name in names:
        ledger.put("server", name, record(name))
    hub.ledger = ledger
    await hub.refresh()
    reader = Reader(hub=hub)
    before = Elements(await reader.next()).ids

    ledger.put("ticket", "t1", ticket(server="team-b/ollama", footprint_mib=100))
    await hub.refresh()

    assert [i for i in Elements(await reader.next()).swapped if i.startswith("server-")] == ["server-team-b_2f_ollama"]
    again = Elements(await Reader(hub=hub).next()).ids
    assert [i for i in again if i.startswith("server-")] == [i for i in before if i.startswith("server-")]
