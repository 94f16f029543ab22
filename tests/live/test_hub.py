"""The board as its readers get it: drawn once, always true in the end, whoever is slow."""

import asyncio
from time import thread_time

import pytest
from django.db import OperationalError

from kubemoot_web.live import hub as hubs
from kubemoot_web.live.hub import Reader
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.gate import FailMode
from scheduler.core.types import TicketState
from tests.board.views import NOON, copy, record, ticket, waiter
from tests.live.conftest import hub_of
from tests.live.elements import Elements

WHOLE = ["board-problem", "summary", "ahead", "servers", "waiting-count", "line", "decisions", "pulse"]


async def test_a_reader_gets_the_whole_board_first(hub):
    await hub.refresh()

    got = Elements(await Reader(hub=hub).next())

    assert [one for one in got.swapped if not one.startswith("server-")] == WHOLE
    assert [one for one in got.swapped if one.startswith("server-")] == ["server-gpu-1", "server-gpu-2"]
    assert len(got.ids) == len(set(got.ids))


async def test_a_change_sends_the_one_card_and_what_it_counts_in(hub, ledger):
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.put("ticket", "t1", ticket())
    await hub.refresh()

    got = Elements(await reader.next())
    assert got.swapped == ["summary", "server-gpu-1"]
    assert "analyst" in got.text


async def test_nothing_new_is_not_sent(hub, ledger):
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.put("use", "qwen3:14b", {"count": 1.0, "at": NOON})
    await hub.refresh()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.next(), 0.01)


async def test_two_readers_share_one_rendering(hub, ledger, monkeypatch):
    rendered = []
    monkeypatch.setattr(
        "kubemoot_web.live.fragments.render_to_string",
        lambda template, context: rendered.append(template) or f"<p>{template}</p>",
    )
    await hub.refresh()

    first, second = await Reader(hub=hub).next(), await Reader(hub=hub).next()

    assert first == second
    assert len(rendered) == len(set(rendered)) == len(WHOLE)


async def test_a_reader_that_reads_nothing_for_long_gets_the_last_state_once(hub, ledger):
    """C78: a slow browser lost messages above a capacity, and its card kept an old state."""
    await hub.refresh()
    slow, fast = Reader(hub=hub), Reader(hub=hub)
    await slow.next()
    for number in range(500):
        ledger.put("ticket", f"t{number}", ticket(f"t{number}", agent=f"default/agent-{number}"))
        await hub.refresh()
        await fast.next()
        ledger.put("ticket", f"t{number}", None)
    ledger.put("ticket", "last", ticket("last", agent="default/last", state=TicketState.ACTIVE))
    await hub.refresh()

    late = Elements(await slow.next())

    assert late.swapped == ["summary", "server-gpu-1"], "one version of each, whatever it missed"
    assert "last" in late.text
    assert "agent-" not in late.text
    assert Elements(await fast.next()).text.count("last") == 1


async def test_a_server_that_comes_or_goes_sends_all_cards_in_one(hub, ledger):
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.put("server", "gpu-3", record("gpu-3"))
    ledger.put("server", "gpu-1", None)
    await hub.refresh()

    got = Elements(await reader.next())
    assert got.swapped == ["servers", "server-gpu-2", "server-gpu-3"]
    ledger.put("ticket", "t1", ticket(server="gpu-3"))
    await hub.refresh()
    assert Elements(await reader.next()).swapped == ["summary", "server-gpu-3"]
    assert 'id="server-gpu-3-name"' in await Reader(hub=hub).next()


async def test_the_container_of_a_late_reader_holds_the_newest_cards(hub, ledger):
    await hub.refresh()
    await Reader(hub=hub).next()
    ledger.put("ticket", "t1", ticket(agent="default/newest"))
    await hub.refresh()

    assert "newest" in Elements(await Reader(hub=hub).next()).text


async def test_a_ledger_that_came_back_empty_shows_an_empty_board(hub, ledger):
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.begin_anew()
    await hub.refresh()

    html = await reader.next()
    assert "No server yet" in html
    assert "Set up your first server" in html


async def test_silence_of_the_ledger_is_said_and_taken_back(hub, ledger, monkeypatch):
    monkeypatch.setattr(hubs, "CLOCK_S", 0.0)
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.is_silent = True
    await hub.refresh()
    silent = await reader.next()
    ledger.is_silent = False
    await hub.refresh()
    back = Elements(await reader.next())

    assert "Redis does not answer, so what you see may be old." in silent
    assert back.swapped == ["board-problem"]
    assert "Redis" not in back.text


async def test_while_the_ledger_is_silent_the_board_says_where_calls_go_on(hub, ledger, monkeypatch):
    """A-33: the cap is not shared then."""
    monkeypatch.setattr(hubs, "CLOCK_S", 0.0)
    ledger.put("server", "gpu-2", record("gpu-2", residents=[copy()], fail_mode=FailMode.LOCAL))
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.is_silent = True
    await hub.refresh()

    says = Elements(await reader.next()).text
    assert "Cap not shared: calls go on to gpu-2, as many as this web process alone lets in (0 calls run)" in says
    await hub._local.close()


async def test_a_ledger_that_tells_of_changes_again_is_not_called_silent(hub, ledger, monkeypatch):
    """On a busy cluster something changed at every look, nobody asked again; the board kept calling Redis silent."""
    monkeypatch.setattr(hubs, "CLOCK_S", 0.0)
    await hub.refresh()
    ledger.is_silent = True
    await hub.refresh()
    reader = Reader(hub=hub)
    assert "Redis does not answer" in await reader.next()

    ledger.is_silent = False
    ledger.put("ticket", "t1", ticket())
    await hub.refresh()

    back = Elements(await reader.next())
    assert back.swapped == ["board-problem", "summary", "server-gpu-1"]
    assert "Redis" not in back.text


async def test_history_that_cannot_be_read_leaves_the_last_decisions(hub, ledger, calls, monkeypatch, caplog):
    monkeypatch.setattr(hubs, "CLOCK_S", 0.0)
    calls.append(CallRecord(id="c1", agent="default/analyst", state=CallState.RUNNING, arrived_at=NOON, action="use"))
    await hub.refresh()

    async def broken():
        raise OperationalError("locked")

    monkeypatch.setattr(hub, "_recent_calls", broken)
    ledger.put("waiter", "w1", waiter())
    await hub.refresh()

    assert "decision" not in caplog.text
    assert "OperationalError" in caplog.text
    assert "analyst" in Elements(await Reader(hub=hub).next()).text


async def test_the_drawing_runs_while_somebody_looks_and_no_longer(hub, ledger):
    async with asyncio.timeout(5), hub.open() as first, hub.open() as second:
        await first.next()
        await second.next()
        ledger.put("ticket", "t1", ticket())
        assert "analyst" in Elements(await first.next()).text
        assert "analyst" in Elements(await second.next()).text
        (drawing,) = [task for task in asyncio.all_tasks() if task.get_name() == "board"]

    assert drawing.cancelled()
    ledger.put("ticket", "t1", ticket(agent="default/newcomer"))
    async with asyncio.timeout(5), hub.open() as third:
        assert "newcomer" in Elements(await third.next()).text, "the first thing it gets is of now"


async def test_what_others_did_meanwhile_is_not_taken_for_drawing(ledger):
    """Else a picture that had to wait while a thousand boards were sent to would be followed by a long pause."""
    others_s = 0.2

    async def recent():
        until = thread_time() + others_s
        while thread_time() < until:
            pass
        return ()

    hub = hub_of(ledger, recent)

    assert 0 < await hub.refresh() < others_s


async def test_a_picture_that_cannot_be_drawn_is_logged_and_the_next_one_is(hub, ledger, monkeypatch, caplog):
    draw, broken = hubs.picture_of, [True]

    def draws(**facts):
        if broken:
            broken.pop()
            raise ZeroDivisionError
        return draw(**facts)

    monkeypatch.setattr(hubs, "picture_of", draws)
    async with asyncio.timeout(5), hub.open() as reader:
        await asyncio.sleep(0)  # the first drawing fails before anything is there
        ledger.put("ticket", "t1", ticket())
        html = await reader.next()

    assert "analyst" in Elements(html).text
    assert "board_not_drawn" in caplog.text
