"""The memory bar: never below zero, never above the whole, never a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.board.marks import Palette
from kubemoot_web.board.memory import Memory, Segment, shares
from scheduler.core.types import LoadUnderWay, TicketState
from tests.board.views import NOW, card, copy, record, ticket


def test_memory_is_what_models_hold_what_is_free_and_what_the_system_keeps():
    memory = card(server=record(residents=[copy()])).memory

    assert memory == Memory(
        summary="10.0 GiB of 32.0 GiB held by models",
        free="18.2 GiB free",
        percent=31,
        segments=(
            Segment(
                kind="held", label="qwen3:14b", size="10.0 GiB", share=31, mark=Palette(["qwen3:14b"]).mark("qwen3:14b")
            ),
            Segment(kind="free", label="free", size="18.2 GiB", share=57),
            Segment(kind="system", label="system", size="3.8 GiB", share=12),
        ),
        is_over=False,
        is_unsure=False,
        problem="",
    )


def test_a_load_takes_its_memory_at_once_in_place_of_the_models_that_leave_for_it():
    load = LoadUnderWay(server="gpu-1", model="qwen3:32b", footprint_mib=20480, started_at=NOW, evicts=("qwen3:14b",))

    memory = card(("load", "gpu-1 qwen3:32b", load), server=record(residents=[copy()])).memory

    assert [(s.kind, s.label) for s in memory.segments] == [
        ("loading", "qwen3:32b"),
        ("free", "free"),
        ("system", "system"),
    ]
    assert memory.summary == "20.0 GiB of 32.0 GiB held by models"


def test_an_over_committed_server_shows_no_negative_memory_and_a_mark():
    """C27: the engine's own estimate exceeds the card; free memory went below zero, gauges above 100 %."""
    residents = [copy("qwen3:32b", 20982), copy("bge-m3:latest", 4769)]

    memory = card(server=record(residents=residents, total_mib=24564)).memory

    assert memory.free == "0 MiB free"
    assert memory.percent == 100
    assert memory.is_over
    assert memory.problem == (
        "Over-committed: models hold 25.1 GiB where 21.1 GiB may be used. "
        "Nothing is loaded here until some of it is free."
    )
    assert sum(segment.share for segment in memory.segments) == 100
    assert {segment.kind for segment in memory.segments} == {"held"}


def test_an_unknown_budget_is_called_unknown_with_what_to_set():
    """C29: zero or nothing was detected; the gauge divided by zero or treated it as without limit."""
    memory = card(server=record(total_mib=None, residents=[copy("qwen3:8b", 5722)])).memory

    assert memory == Memory(
        summary="5.6 GiB held by models",
        free="free memory unknown",
        percent=None,
        segments=(),
        is_over=False,
        is_unsure=False,
        problem="Memory unknown: set scheduling.memoryMiB. What is loaded here is used; nothing else is loaded.",
    )


@pytest.mark.parametrize("engine", [{"kind": "vllm", "can_load": False}, {"kind": "llamacpp", "can_load": True}])
def test_where_there_is_nothing_more_to_load_memory_decides_nothing(engine):
    """Nobody need look up the size of what vLLM was started with."""
    there = {"residents": [copy("served", None)], "seen": {"models": ("served",)}}

    assert card(server=record(total_mib=None, **there, **engine)).memory == Memory(
        summary="All its models are in memory",
        free="",
        percent=None,
        segments=(),
        is_over=False,
        is_unsure=False,
        problem="",
    )
    known = record(residents=[copy("served", 10240)], seen={"models": ("served",)}, **engine)
    assert card(server=known).memory.summary == "10.0 GiB of 32.0 GiB held by models"


def test_where_there_is_more_to_load_its_memory_is_asked_for():
    more = record(total_mib=None, residents=[copy("a", None)], seen={"models": ("a", "b")})

    assert card(server=more).memory.problem.startswith("Memory unknown: set scheduling.memoryMiB.")


def test_a_model_of_unknown_size_makes_free_memory_unknown():
    memory = card(("ticket", "t1", ticket(model="new", state=TicketState.LOADING))).memory

    assert memory.free == "free memory unknown"
    assert memory.problem == ("The size of new is not known yet, so free memory is not either. Nothing is loaded here.")


@pytest.mark.parametrize("total", [1, 100, 2048, 2049, 4096, 24564, 1_000_000])
@pytest.mark.parametrize("held", [0, 1, 2000, 30_000, 2_000_000])
def test_the_pieces_fill_the_bar_and_no_more(total, held):
    memory = card(server=record(total_mib=total, residents=[copy(mib=held)])).memory

    assert 0 <= memory.percent <= 100
    assert all(segment.share > 0 for segment in memory.segments)
    assert sum(segment.share for segment in memory.segments) == 100


@given(sizes=st.lists(st.integers(1, 10**6), min_size=1, max_size=100))
def test_a_bar_is_divided_whole_and_nothing_is_invisible(sizes):
    divided = shares(sizes)

    assert sum(divided) == 100
    assert min(divided) >= 1


def test_more_pieces_than_a_bar_can_show_do_not_overflow_it():
    assert sum(shares([1] * 250)) == 100


def test_equal_pieces_are_as_good_as_equal():
    assert shares([5, 5, 5]) == (33, 34, 33)
