"""What a server went through, from the journal's events."""

import pytest

from scheduler.core.server_history import (
    Holding,
    ServerEventKind,
    ServerEventRecord,
    holdings,
    is_news,
    server_event_of,
)

NOON = 1_795_953_780.0


def event(kind: str, at: float = 0, **more) -> ServerEventRecord:
    """Make one event on gpu-1, so many seconds after noon."""
    return ServerEventRecord(server="gpu-1", kind=ServerEventKind(kind), at=NOON + at, **more)


def probed(at: float, *residents: tuple[str, int | None], **more) -> ServerEventRecord:
    """Make a probe that found these models."""
    return event("probed", at, **{"phase": "ready", "is_ready": True, "residents": residents} | more)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (
            {
                "type": "load_started",
                "server": "gpu-1",
                "model": "m",
                "agent": "a/b",
                "call": "c1",
                "footprint_mib": 6144,
                "evicts": ["x"],
            },
            event("load_started", model="m", agent="a/b", call="c1", mib=6144, evicts=("x",)),
        ),
        (
            {"type": "load_done", "server": "gpu-1", "model": "m", "took_s": 4.5, "footprint_mib": 6144},
            event("load_done", model="m", took_s=4.5, mib=6144),
        ),
        (
            {"type": "load_failed", "server": "gpu-1", "model": "m", "reason": "no", "blocked_until": NOON + 5},
            event("load_failed", model="m", detail="no", until=NOON + 5),
        ),
        (
            {"type": "victim_gone", "server": "gpu-1", "model": "m", "load": "other"},
            event("victim_gone", model="m"),
        ),
        (
            {
                "type": "server_changed",
                "reason": "probed",
                "server": "gpu-1",
                "phase": "ready",
                "ready": True,
                "detail": "",
                "residents": ["m", "n"],
                "sizes_mib": [6144, None],
            },
            probed(0, ("m", 6144), ("n", None)),
        ),
        (
            {"type": "server_changed", "reason": "probed", "server": "gpu-1", "phase": "ready", "ready": True}
            | {"residents": ["m"]},
            probed(0, ("m", None)),
        ),
        ({"type": "server_changed", "reason": "removed", "server": "gpu-1"}, event("removed")),
        (
            {"type": "admission", "server": "gpu-1", "state": "paused", "reason": "new fans", "by": "operator"},
            event("admission", phase="paused", detail="new fans"),
        ),
        (
            {"type": "circuit_opened", "server": "gpu-1", "failures": 3, "status": 500, "rests_until": NOON + 9},
            event("circuit_opened", until=NOON + 9),
        ),
        ({"type": "circuit_closed", "server": "gpu-1", "opened_at": NOON}, event("circuit_closed")),
        ({"type": "granted", "server": "gpu-1", "call": "c1"}, None),
        ({"type": "load_done", "server": ""}, None),
    ],
    ids=[
        "began",
        "ended",
        "failed",
        "unloaded",
        "probed",
        "an older writer told no sizes",
        "removed",
        "paused",
        "calls failed",
        "a call went well",
        "a call's",
        "none",
    ],
)
def test_the_journal_is_read(told, read):
    assert server_event_of(event=told, at=NOON) == read


def test_memory_follows_loads_unloads_and_probes():
    events = (
        event("registered"),
        probed(1, ("small", 6144)),
        event("load_started", 2, model="large", mib=20480, evicts=("small",)),
        event("victim_gone", 3, model="small"),
        probed(4, ("large", 20480)),
        event("load_done", 5, model="large", mib=20480),
        event("load_started", 6, model="other", mib=100),
        event("load_failed", 7, model="other"),
        probed(8, ("large", 20480), ("foreign", None), phase="stale", is_ready=False),
        *(event(kind, 9) for kind in ("configured", "admission", "circuit_opened", "circuit_closed")),
        event("removed", 10),
    )
    large = {"large": 20480}

    assert holdings(events=events) == (
        Holding(at=NOON),
        Holding(at=NOON + 1, is_ready=True, held={"small": 6144}),
        Holding(at=NOON + 2, is_ready=True, held={"small": 6144}, announced={"large": (20480, ("small",))}),
        Holding(at=NOON + 3, is_ready=True, loading=large),
        Holding(at=NOON + 4, is_ready=True, loading=large),
        Holding(at=NOON + 5, is_ready=True, held=large),
        Holding(at=NOON + 6, is_ready=True, held=large, loading={"other": 100}),
        Holding(at=NOON + 7, is_ready=True, held=large),
        Holding(at=NOON + 8, held={"large": 20480, "foreign": None}),
        *(Holding(at=NOON + 9, held={"large": 20480, "foreign": None}) for _ in range(4)),
        Holding(at=NOON + 10),
    )
    assert [state.mib for state in holdings(events=events)[1:4]] == [6144, 6144, 20480], "never both at once"
    assert holdings(events=()) == ()


def test_a_probe_that_says_the_same_in_other_words_is_no_news():
    before = probed(0, ("m", 6144), detail="no answer for 2 s")

    assert not is_news(record=probed(9, ("m", 6144), detail="no answer for 9 s"), before=before)
    assert is_news(record=probed(9, ("m", 6145)), before=before)
    assert is_news(record=probed(9, ("m", 6144), phase="stale", is_ready=False), before=before)
    assert is_news(record=probed(0), before=None)
    assert is_news(record=event("configured", 1), before=event("configured", 0))
