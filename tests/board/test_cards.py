"""What a card says about a server."""

from dataclasses import replace

import pytest

from kubemoot_web.board.cards import Copy, Loading, Place
from kubemoot_web.board.times import Moment
from scheduler.core.ledger import ServerLearned
from scheduler.core.types import Drain, LoadUnderWay, TicketState
from tests.board.views import NOON, NOW, card, copy, record, ticket

AT_NOON = Moment(iso="2026-11-29T12:03:00Z", words="12:03:00 UTC")


def test_a_server_that_cannot_be_reached_says_since_when_why_and_what_follows():
    seen = {"phase": "unreachable", "ready": False, "detail": "connection refused"}

    shown = card(server=record(seen=seen, residents=[copy()]))

    assert (shown.phase, shown.tone, shown.since, shown.is_ready) == ("Unreachable", "bad", AT_NOON, False)
    assert shown.problem == "Connection refused. Nothing is placed here; it comes back by itself."
    assert shown.as_of == "When it last answered:"
    assert [one.model for one in shown.copies] == ["qwen3:14b"]


@pytest.mark.parametrize(
    ("phase", "words", "tone"),
    [
        ("pending", "Not probed yet", "busy"),
        ("ready", "Ready", "good"),
        ("degraded", "Ready, but loads hang", "warn"),
        ("stale", "Not answering", "warn"),
        ("failing", "Answers wrongly", "bad"),
        ("unreachable", "Unreachable", "bad"),
    ],
)
def test_every_phase_has_words_and_a_tone(phase, words, tone):
    shown = card(server=record(seen={"phase": phase}))

    assert (shown.phase, shown.tone) == (words, tone)


def test_nothing_is_claimed_of_a_server_that_was_never_asked():
    shown = card(server=record(seen={"phase": "pending", "ready": False}))

    assert (shown.is_known, shown.as_of) == (False, "What it holds is not known yet.")


def test_a_copy_shows_its_slots_taken_held_and_free():
    held = ticket("t2", state=TicketState.PLANNED, plan="p")

    shown = card(("ticket", "t1", ticket()), ("ticket", "t2", held), server=record(residents=[copy()], slots=4))

    assert shown.copies == (
        Copy(
            model="qwen3:14b",
            size="10.0 GiB",
            note="",
            slots="2 of 4 slots used",
            taken=range(1),
            held=range(1),
            open=range(2),
        ),
    )
    assert shown.places == (
        Place(agent="default/analyst", state="runs on qwen3:14b", kind="active", since=AT_NOON),
        Place(agent="default/analyst", state="selected, qwen3:14b is held for it", kind="planned", since=AT_NOON),
    )


def test_a_copy_that_spills_into_host_memory_is_marked():
    """C04: part of the model runs from host memory; it looked like a healthy warm copy."""
    spilling = copy("llama3.3:70b", 20981, spilling=True)

    shown = card(server=record(residents=[spilling], total_mib=24564))

    assert shown.copies[0].note == "partly in host memory, slower"


def test_a_load_shows_how_far_it_is_by_its_estimate_and_what_leaves_for_it():
    load = LoadUnderWay(
        server="gpu-1", model="qwen3:32b", footprint_mib=20480, started_at=NOW - 5, evicts=("qwen3:14b",)
    )

    shown = card(
        ("load", "gpu-1 qwen3:32b", load),
        ("ticket", "t1", ticket(model="qwen3:32b", state=TicketState.LOADING)),
        server=record(residents=[copy()]),
    )

    assert shown.loads == (
        Loading(
            model="qwen3:32b",
            size="20.0 GiB",
            state="loading",
            percent=25,
            says="about 15 s more, takes the place of qwen3:14b",
        ),
    )
    assert [(one.model, one.note) for one in shown.copies] == [("qwen3:14b", "being unloaded")]
    assert shown.places[0].state == "waits for qwen3:32b to load"


def test_a_load_that_outlives_its_estimate_says_so_and_is_never_done():
    load = LoadUnderWay(server="gpu-1", model="qwen3:32b", footprint_mib=20480, started_at=NOON)

    (shown,) = card(("load", "gpu-1 qwen3:32b", load)).loads

    assert (shown.percent, shown.says) == (99, "takes longer than the 20 s estimated")


def test_a_place_held_for_a_model_that_nobody_loads_is_not_called_a_load():
    (shown,) = card(("ticket", "t1", ticket(footprint_mib=10240))).loads

    assert (shown.state, shown.percent) == ("not in memory, no load yet", None)


def test_a_drain_says_for_whom():
    drain = Drain(model="qwen3:32b", agent="default/researcher", victims=("qwen3:14b",), since=NOON)

    shown = card(("drain", "gpu-1", drain), server=record(residents=[copy()]))

    assert shown.drain == (
        "Being emptied for default/researcher, who waits for qwen3:32b. No new calls on qwen3:14b until then."
    )
    assert shown.drain_since == AT_NOON


def test_loads_that_rest_say_why():
    learned = ServerLearned(blocked_until={"qwen3:32b": NOW + 5}, load_problem="out of memory")

    shown = card(server=replace(record(), learned=learned))

    assert shown.rest == "Loading qwen3:32b failed here and is tried again soon. Out of memory."
