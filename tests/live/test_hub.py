"""The board as its readers get it: drawn once, always true in the end, whoever is slow."""

import asyncio
from html.parser import HTMLParser

import pytest
from django.db import OperationalError

from kubemoot_web.live import hub as hubs
from kubemoot_web.live.hub import Hub, Reader
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.config import SchedulerConfig
from scheduler.core.types import TicketState
from tests.board.views import NOON, copy, record, ticket, waiter
from tests.fakes.fed_ledger import FedLedger
from tests.fakes.manual_clock import ManualClock

WHOLE = ["board-problem", "summary", "servers", "waiting-count", "line", "decisions", "pulse"]


class Elements(HTMLParser):
    """Collects elements: ids with their out-of-band attribute, every attribute name, the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.swapped: list[str] = []
        self.attributes: set[str] = set()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        named = dict(attrs)
        self.tags.add(tag)
        self.attributes.update(named)
        if named.get("id"):
            self.ids.append(named["id"])
            if "hx-swap-oob" in named:
                self.swapped.append(named["id"])

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


@pytest.fixture
def ledger():
    fed = FedLedger()
    fed.put("server", "gpu-1", record(residents=[copy()]))
    fed.put("server", "gpu-2", record("gpu-2"))
    return fed


@pytest.fixture
def calls():
    return []


@pytest.fixture
def hub(ledger, calls):
    async def recent():
        return tuple(calls)

    return Hub(ledger=ledger, config=SchedulerConfig(), now=ManualClock(at=NOON + 10), recent_calls=recent)


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
    assert "default/analyst" in got.text


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
    assert "default/last" in late.text
    assert "default/agent-" not in late.text
    assert (await fast.next()).count("default/last") == 1


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
    assert 'id="server-gpu-3-name">gpu-3<' in await Reader(hub=hub).next()


async def test_the_container_of_a_late_reader_holds_the_newest_cards(hub, ledger):
    await hub.refresh()
    await Reader(hub=hub).next()
    ledger.put("ticket", "t1", ticket(agent="default/newest"))
    await hub.refresh()

    assert "default/newest" in await Reader(hub=hub).next()


async def test_a_ledger_that_came_back_empty_shows_an_empty_board(hub, ledger):
    await hub.refresh()
    reader = Reader(hub=hub)
    await reader.next()

    ledger.begin_anew()
    await hub.refresh()

    html = await reader.next()
    assert "No server yet" in html
    assert "manage.py apply -f mine.yaml" in html


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
    assert "default/analyst" in await Reader(hub=hub).next()


async def test_the_drawing_runs_while_somebody_looks_and_no_longer(hub, ledger):
    async with asyncio.timeout(5), hub.open() as first, hub.open() as second:
        await first.next()
        await second.next()
        ledger.put("ticket", "t1", ticket())
        assert "default/analyst" in await first.next()
        assert "default/analyst" in await second.next()
        (drawing,) = [task for task in asyncio.all_tasks() if task.get_name() == "board"]

    assert drawing.cancelled()
    ledger.put("ticket", "t1", ticket(agent="default/newcomer"))
    async with asyncio.timeout(5), hub.open() as third:
        assert "default/newcomer" in await third.next(), "the first thing it gets is of now"


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

    assert "default/analyst" in html
    assert "board_not_drawn" in caplog.text


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
    assert [i for i in again if not i.endswith("name")] == [i for i in before if not i.endswith("name")]
