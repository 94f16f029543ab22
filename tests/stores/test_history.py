"""The journal, written down: once each, whatever is delivered twice."""

import pytest
from asgiref.sync import sync_to_async

from scheduler import queries
from scheduler.core.ledger import JournalEntry
from scheduler.core.server_history import ServerEventKind, ServerEventRecord
from scheduler.models import Call, JournalCursor, ServerEvent
from scheduler.stores.history import OrmHistory

pytestmark = pytest.mark.django_db(transaction=True)
NOON = 1_795_953_780.0


def entry(number: int, *events: dict[str, object]) -> JournalEntry:
    """Make a committed change, so many seconds after noon."""
    return JournalEntry(id=f"{number}-0", version=number, at=NOON + number, events=events)


def probed(detail: str = "", **more) -> dict[str, object]:
    """Tell of a probe."""
    told = {"type": "server_changed", "reason": "probed", "server": "gpu-1", "phase": "ready", "ready": True}
    return {**told, "detail": detail, "residents": ["m"], "sizes_mib": [6144], **more}


async def test_server_events_are_written_once_each_and_probes_only_when_they_tell_something():
    history = OrmHistory(ledger="test")
    load = {
        "type": "load_started",
        "server": "gpu-1",
        "model": "n",
        "footprint_mib": 9,
        "evicts": ["m"],
        "agent": "a/b",
    }
    entries = [entry(1, probed()), entry(2, load), entry(3, probed("other words")), entry(4, probed(sizes_mib=[7000]))]

    await history.write(entries=entries[:2])
    await history.write(entries=entries)
    await history.write(entries=[*entries, entry(5, probed(sizes_mib=[7000]))])

    assert await history.cursor() == "5-0"
    assert await _events() == (
        ServerEventRecord(
            server="gpu-1",
            kind=ServerEventKind.PROBED,
            at=NOON + 1,
            phase="ready",
            is_ready=True,
            residents=(("m", 6144),),
        ),
        ServerEventRecord(
            server="gpu-1",
            kind=ServerEventKind.LOAD_STARTED,
            at=NOON + 2,
            model="n",
            mib=9,
            evicts=("m",),
            agent="a/b",
        ),
        ServerEventRecord(
            server="gpu-1",
            kind=ServerEventKind.PROBED,
            at=NOON + 4,
            phase="ready",
            is_ready=True,
            residents=(("m", 7000),),
        ),
    )


async def test_a_failed_load_keeps_why_and_until_when_the_model_rests():
    failed = {"type": "load_failed", "server": "gpu-1", "model": "m", "reason": "no room", "blocked_until": NOON + 6}

    await OrmHistory(ledger="test").write(entries=[entry(1, failed)])

    (event,) = await _events()
    assert (event.kind, event.model, event.detail, event.until) == (
        ServerEventKind.LOAD_FAILED,
        "m",
        "no room",
        NOON + 6,
    )


async def _events() -> tuple[ServerEventRecord, ...]:
    return await sync_to_async(queries.server_events)(server="gpu-1", since=NOON, limit=100)


async def test_while_nothing_happens_the_database_is_not_asked():
    """It was asked every second for where history ends."""
    history = OrmHistory(ledger="test")
    await history.write(entries=[entry(1, probed())])
    await JournalCursor.objects.all().adelete()

    assert await history.cursor() == "1-0"
    assert await OrmHistory(ledger="test").cursor() == ""


async def test_what_another_process_wrote_is_not_written_again():
    one, other = OrmHistory(ledger="test"), OrmHistory(ledger="test")
    await one.write(entries=[entry(1, probed())])
    await other.write(entries=[entry(1, probed()), entry(2, probed(sizes_mib=[7000]))])
    assert await one.cursor() == "1-0"

    await one.write(entries=[entry(2, probed(sizes_mib=[7000]))])

    assert await one.cursor() == "2-0"
    assert len(await _events()) == 2


def enqueued(call: str) -> dict[str, object]:
    """Tell of a call that came in."""
    return {"type": "enqueued", "call": call, "agent": "a/b", "priority": "interactive"}


async def test_the_oldest_calls_are_forgotten_first_and_no_more_at_once_than_asked_for():
    """Calls were kept for ever: a busy installation filled its disk."""
    history = OrmHistory(ledger="test")
    await history.write(entries=[entry(number, enqueued(f"c{number}")) for number in range(1, 6)])

    assert await history.forget(before=NOON + 4, most=2) == 2
    assert await _calls() == {"c3", "c4", "c5"}
    assert await history.forget(before=NOON + 4, most=2) == 1
    assert await history.forget(before=NOON + 4, most=2) == 0
    assert await _calls() == {"c4", "c5"}


async def test_of_old_server_events_the_last_probe_and_what_came_after_it_stay():
    """A server that has not changed for longer than history is kept would seem to hold nothing."""
    history = OrmHistory(ledger="test")
    loaded = {"type": "load_done", "server": "gpu-1", "model": "n", "footprint_mib": 9, "took_s": 1.0}
    other = probed(server="gpu-2")
    first = [entry(1, probed(), other), entry(2, loaded), entry(3, probed(sizes_mib=[1])), entry(4, loaded)]
    await history.write(entries=[*first, entry(9, probed(sizes_mib=[2]))])

    assert await history.forget(before=NOON + 5, most=1) == 1
    assert await history.forget(before=NOON + 5, most=10) == 1
    assert await history.forget(before=NOON + 5, most=10) == 0

    kept = [(row.server, row.kind, row.at.timestamp() - NOON) async for row in ServerEvent.objects.order_by("at", "id")]
    assert kept == [("gpu-2", "probed", 1), ("gpu-1", "probed", 3), ("gpu-1", "load_done", 4), ("gpu-1", "probed", 9)]


async def test_what_was_forgotten_does_not_come_back_with_the_journal():
    history = OrmHistory(ledger="test")
    entries = [entry(1, enqueued("c1")), entry(2, enqueued("c2"))]
    await history.write(entries=entries)
    await history.forget(before=NOON + 2, most=10)

    await OrmHistory(ledger="test").write(entries=entries)

    assert await _calls() == {"c2"}


async def _calls() -> set[str]:
    return {call.id async for call in Call.objects.all()}
