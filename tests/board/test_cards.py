"""What a card says about a server."""

from dataclasses import replace

import pytest

from kubemoot_web.board.copies import Copy, Place, Span
from kubemoot_web.board.marks import Palette
from kubemoot_web.board.times import Moment
from providers.core.specs import ResourceGroup
from providers.core.types import LoadedCopy
from scheduler.core.gate import Admission, AdmissionState, Circuit
from scheduler.core.ledger import ServerLearned
from scheduler.core.types import Drain, LoadUnderWay, Priority, TicketState
from scheduler.services.loads import resident_of
from tests.board.views import NOON, NOW, card, copy, record, ticket, waiter

AT_NOON = Moment(iso="2026-11-29T12:03:00Z", words="12:03:00 UTC")


def test_a_server_that_cannot_be_reached_says_since_when_why_and_what_follows():
    seen = {"phase": "unreachable", "ready": False, "detail": "connection refused"}

    shown = card(server=record(seen=seen, residents=[copy()]))

    assert (shown.phase, shown.tone, shown.since, shown.is_ready) == ("Unreachable", "bad", AT_NOON, False)
    assert shown.problem == "Connection refused. Nothing is placed here; it comes back by itself."
    assert shown.as_of == "When it last answered:"
    assert [one.mark.name for one in shown.copies] == ["qwen3:14b"]


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


def test_a_copy_shows_who_has_its_slots_and_how_many_are_free():
    held = ticket("t2", state=TicketState.PLANNED, plan="p", priority=Priority.BACKGROUND)

    shown = card(("ticket", "t1", ticket()), ("ticket", "t2", held), server=record(residents=[copy()], slots=4))

    assert shown.copies == (
        Copy(
            kind="warm",
            mark=Palette(["qwen3:14b"]).mark("qwen3:14b"),
            size="10.0 GiB",
            state="2 of 4 slots used",
            says="",
            is_warning=False,
            span=None,
            places=(
                Place(
                    id="t1",
                    call="",
                    agent="default/analyst",
                    state="runs",
                    kind="active",
                    since=AT_NOON,
                    is_background=False,
                    span=None,
                ),
                Place(
                    id="t2",
                    call="",
                    agent="default/analyst",
                    state="held for its call",
                    kind="planned",
                    since=AT_NOON,
                    is_background=True,
                    span=None,
                ),
            ),
            open=2,
            free="2 free slots",
            queue="",
        ),
    )
    assert shown.doing == "1 running, 1 held"


def test_a_place_that_is_kept_for_a_caller_that_left_says_so():
    """A-23."""
    shown = card(("ticket", "t1", ticket(left_at=NOON)), server=record(residents=[copy()]))

    ((place,),) = [each.places for each in shown.copies]
    assert (place.kind, place.state) == ("active", "its caller has left; the engine works on")


def test_a_call_shows_how_long_calls_take_here_once_that_is_known():
    known = replace(record(residents=[copy()]), learned=ServerLearned(call_s=4.2))

    ((place,),) = (one.places for one in card(("ticket", "t1", ticket()), server=known).copies)

    assert place.span == Span(began=AT_NOON, ends=Moment(iso="2026-11-29T12:03:04Z", words="12:03:04 UTC"))


def test_an_idle_copy_says_so():
    shown = card(server=record(residents=[copy()]))

    assert [one.free for one in shown.copies] == ["1 free slot, idle"]
    assert shown.doing == "idle"


def test_a_cap_stands_beside_what_runs():
    """A card on which four run and thirty wait said nothing of why the others do not."""
    assert card(("ticket", "t1", ticket()), server=record(max_concurrent=4)).doing == "1 running, cap 4"


def test_who_waits_for_a_slot_is_counted_at_the_copy():
    queued = waiter("w1", model="qwen3:14b", server="gpu-1", action="queue")

    shown = card(("ticket", "t1", ticket()), ("waiter", "w1", queued), server=record(residents=[copy()]))

    assert [one.queue for one in shown.copies] == ["1 call waits"]


def test_two_names_of_the_same_weights_are_one_copy():
    """C13: a model under two names was drawn and counted twice."""
    shown = card(server=record(residents=[copy("gpt-oss:20b", aliases=("chat-prod",))]))

    assert [one.mark.name for one in shown.copies] == ["gpt-oss:20b"]


def test_a_copy_that_spills_into_host_memory_is_marked_with_how_much_of_it():
    """C04: part of the model runs from host memory; it looked like a healthy warm copy."""
    seen = LoadedCopy(model="llama3.3:70b", footprint_mib=20981, host_mib=23842)

    shown = card(server=record(residents=[resident_of(copy=seen)], total_mib=24564))

    assert shown.copies[0].is_warning
    assert shown.copies[0].says == "47 % on the GPU, the rest in host memory, slower"


def test_a_copy_that_spills_nobody_knows_how_much_is_marked_too():
    shown = card(server=record(residents=[copy(spilling=True)]))

    assert (shown.copies[0].says, shown.copies[0].is_warning) == ("partly in host memory, slower", True)


def test_a_load_says_when_it_should_be_done_and_what_leaves_for_it():
    load = LoadUnderWay(
        server="gpu-1", model="qwen3:32b", footprint_mib=20480, started_at=NOW - 5, evicts=("qwen3:14b",)
    )

    leaving, loading = card(
        ("load", "gpu-1 qwen3:32b", load),
        ("ticket", "t1", ticket(model="qwen3:32b", state=TicketState.LOADING)),
        server=record(residents=[copy()]),
    ).copies

    assert (leaving.kind, leaving.mark.name, leaving.state, leaving.open) == (
        "leaving",
        "qwen3:14b",
        "being unloaded",
        0,
    )
    assert (loading.kind, loading.size, loading.state) == ("loading", "20.0 GiB", "loading")
    assert (loading.says, loading.is_warning) == ("takes the place of qwen3:14b", False)
    assert loading.span == Span(
        began=Moment(iso="2026-11-29T19:33:15Z", words="19:33:15 UTC"),
        ends=Moment(iso="2026-11-29T19:33:35Z", words="19:33:35 UTC"),
    )
    assert [place.state for place in loading.places] == ["runs once it is loaded"]


def test_a_load_that_outlives_its_estimate_says_so():
    load = LoadUnderWay(server="gpu-1", model="qwen3:32b", footprint_mib=20480, started_at=NOON)

    (shown,) = card(("load", "gpu-1 qwen3:32b", load)).copies

    assert (shown.says, shown.is_warning) == ("takes longer than the 20 s estimated", True)


def test_a_place_held_for_a_model_that_nobody_loads_is_not_called_a_load():
    (shown,) = card(("ticket", "t1", ticket(footprint_mib=10240))).copies

    assert (shown.kind, shown.state, shown.span) == ("wanted", "not in memory, no load yet", None)


def test_a_drain_says_for_whom():
    drain = Drain(model="qwen3:32b", agent="default/researcher", victims=("qwen3:14b",), since=NOON)

    shown = card(("drain", "gpu-1", drain), server=record(residents=[copy()]))

    assert shown.drain == (
        "Being emptied for researcher, who waits for qwen3:32b. No new calls on qwen3:14b until then."
    )
    assert shown.drain_since == AT_NOON


def test_loads_that_rest_say_why():
    learned = ServerLearned(blocked_until={"qwen3:32b": NOW + 5}, load_problem="out of memory")

    shown = card(server=replace(record(), learned=learned))

    assert shown.rest == "Loading qwen3:32b failed here and is tried again soon. Out of memory."


CLOSED = [
    (
        {"admission": Admission(state=AdmissionState.PAUSED, reason="new fans", since=NOON)},
        ("Paused", "warn", AT_NOON, None, False),
        "Paused: new fans. What runs here goes on; nothing new is placed here until it is resumed.",
    ),
    (
        {"admission": Admission(state=AdmissionState.DRAINING, since=NOON)},
        ("Drained", "warn", AT_NOON, None, False),
        "Drained. Nothing runs here; it takes calls again once it is resumed.",
    ),
    (
        {"admission": Admission(state=AdmissionState.QUARANTINED, since=NOON)},
        ("Taken out", "bad", AT_NOON, None, True),
        "Taken out. Nothing is placed here. An operator takes it back.",
    ),
    (
        {"learned": ServerLearned(circuit=Circuit(failures=3, opened_at=NOON, rests_until=NOW + 9))},
        ("Resting", "bad", AT_NOON, Moment(iso="2026-11-29T19:33:29Z", words="19:33:29 UTC"), True),
        "3 calls in a row failed here. Nothing is placed here for a while; then one call tries it.",
    ),
]


@pytest.mark.parametrize(("said", "mark", "sentence"), CLOSED)
def test_a_server_that_takes_no_calls_says_so_in_a_word_and_why(said, mark, sentence):
    shown = card(server=replace(record(residents=[copy()]), **said))

    assert (shown.phase, shown.tone, shown.since, shown.closed_until, shown.is_fault) == mark
    assert shown.closed == sentence
    assert (shown.is_ready, shown.as_of) == (True, ""), "it answers: what it holds is what it holds now"


def test_of_a_paused_server_that_does_not_answer_both_are_said():
    admission = Admission(state=AdmissionState.PAUSED, since=NOON)
    seen = {"phase": "unreachable", "ready": False}

    shown = card(server=replace(record(seen=seen), admission=admission))

    assert (shown.phase, shown.tone, shown.as_of) == ("Unreachable", "bad", "When it last answered:")
    assert shown.closed.startswith("Paused.")


@pytest.mark.parametrize(
    ("limits", "free", "says"),
    [
        ({"max_concurrent": 3}, "2 free slots", "1 free slot stays empty: the server takes only 2 more calls"),
        ({"max_concurrent": 1}, "", "3 free slots stay empty: the server takes no more calls now"),
        ({"max_concurrent": 9}, "3 free slots", ""),
        (
            {"resource_group": ResourceGroup(name="bus-1", max_concurrent=2)},
            "1 free slot",
            "2 free slots stay empty: the resource group bus-1 takes only 1 more call",
        ),
    ],
)
def test_slots_that_a_cap_keeps_from_everybody_are_not_called_free(limits, free, says):
    (shown,) = card(("ticket", "t1", ticket()), server=record(residents=[copy()], slots=4, **limits)).copies

    assert (shown.free, shown.says) == (free, says)
