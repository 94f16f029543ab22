"""Whole stretches of time, played: no thrash, no double load, no starvation, nobody held up by what is not theirs."""

from tests.core.play import Play, Served, card, holds


def test_two_agents_that_need_the_same_cold_model_at_the_same_instant_share_one_load():
    """C40: two loads of one model, on two cards or twice on one."""
    play = Play().build(card("gpu-a", slots=2), card("gpu-b", slots=2), footprints={"qwen3:14b": 12288})

    play.call("a1", ("qwen3:14b", 60)).call("a2", ("qwen3:14b", 60)).until(20)

    assert play.loads == [(0.0, "gpu-a", "qwen3:14b", ())]
    assert play.served == {
        "a1": Served(at=12.0, server="gpu-a", model="qwen3:14b"),
        "a2": Served(at=12.0, server="gpu-a", model="qwen3:14b"),
    }


def test_two_models_that_do_not_fit_together_are_never_promised_the_same_memory():
    """C41: both plans read the same free memory before either has loaded."""
    play = Play().build(card("gpu-a", slots=4), footprints={"qwen3:14b": 14336, "phi4:14b": 14336})

    play.call("a1", ("qwen3:14b", 60), runs_s=5).call("a2", ("phi4:14b", 60), runs_s=5).until(60)

    assert play.loads == [(0.0, "gpu-a", "qwen3:14b", ()), (19.0, "gpu-a", "phi4:14b", ("qwen3:14b",))]
    assert play.served == {
        "a1": Served(at=14.0, server="gpu-a", model="qwen3:14b"),
        "a2": Served(at=33.0, server="gpu-a", model="phi4:14b"),
    }


def test_a_call_for_a_warm_model_does_not_stand_behind_one_that_cannot_be_placed():
    """C45: a cold large model at the head of the line holds up a loaded one."""
    play = Play().build(card(slots=2), holding={"gpu-a": [holds("qwen3:14b", 14336)]}, footprints={"qwen3:32b": 20480})
    play.call("busy", ("qwen3:14b", 60), at=0.0, runs_s=30)

    play.call("big", ("qwen3:32b", 70), at=0.5).call("small", ("qwen3:14b", 60), at=1.0, runs_s=30).until(2)

    assert play.served["small"] == Served(at=1.0, server="gpu-a", model="qwen3:14b")
    assert "big" not in play.served
    assert play.stood_aside == {}


def test_mixed_arrivals_load_each_model_once_and_the_first_one_never_goes_before_its_last_waiter():
    """C46: strict arrival order swaps models at every call."""
    play = Play().build(card(), holding={"gpu-a": [holds("A", 20480)]}, footprints={"A": 20480, "B": 20480, "C": 20480})

    for number, model in enumerate("ABAACABC"):
        play.call(f"{number}{model}", (model, 60), runs_s=2, limit_s=300)
    play.until(120)

    assert [(model, evicts) for _, _, model, evicts in play.loads] == [("B", ("A",)), ("C", ("B",))]
    assert len(play.served) == 8
    assert play.loads[0][0] >= max(served.at for served in play.served.values() if served.model == "A")


def test_a_stream_of_small_calls_cannot_starve_the_agent_whose_model_is_cold():
    """C48: joining warm calls first starves the cold model without a word. Its drain begins after sixty seconds."""
    play = Play().build(card(), holding={"gpu-a": [holds("A", 20480)]}, footprints={"A": 20480, "B": 20480})
    for number in range(240):
        play.call(f"s{number}", ("A", 60), at=number / 2, runs_s=1, limit_s=300)

    play.call("x", ("B", 60), at=1.0, limit_s=90).until(120)

    # Sixty seconds, then those who waited before, for one load time; then the load. Then it is the small calls' turn.
    assert play.drains == [(61.0, "gpu-a", "B"), (101.0, "gpu-a", "A")]
    assert play.loads[0] == (81.0, "gpu-a", "B", ("A",))
    assert play.served["x"] == Served(at=101.0, server="gpu-a", model="B")


def test_a_short_limit_brings_the_drain_forward_to_two_thirds_of_it():
    play = Play().build(card(), holding={"gpu-a": [holds("A", 20480)]}, footprints={"A": 20480, "B": 5120})
    for number in range(240):
        play.call(f"s{number}", ("A", 60), at=number / 2, runs_s=1, limit_s=300)

    play.call("x", ("B", 60), at=1.0, limit_s=30).until(60)

    assert play.drains == [(21.0, "gpu-a", "B")]
    assert play.served["x"] == Served(at=31.0, server="gpu-a", model="B")


def test_who_cannot_be_placed_stands_aside_at_its_limit_and_not_before():
    play = Play().build(card(), holding={"gpu-a": [holds("A", 20480)]}, footprints={"B": 20480})
    play.call("long", ("A", 60), runs_s=500)

    play.call("x", ("B", 60), at=1.0, limit_s=20).until(30)

    assert play.stood_aside == {"x": (21.0, "gpu-busy")}


def test_a_model_that_no_server_can_hold_is_answered_at_once_and_moves_nothing():
    """C44: it keeps the scheduler unloading and blocks the queue behind it."""
    play = Play().build(
        card("gpu-a"),
        card("gpu-b", total=16384),
        holding={"gpu-a": [holds("A", 8192), holds("B", 6144)]},
        footprints={"qwen3:72b": 47104},
    )

    play.call("a1", ("qwen3:72b", 70)).call("a2", ("A", 60)).until(5)

    assert play.stood_aside == {"a1": (0.0, "model-too-large")}
    assert play.served == {"a2": Served(at=0.0, server="gpu-a", model="A")}
    assert play.loads == []


def test_a_summary_never_throws_out_the_model_of_a_conversation_that_is_running():
    """C47: a background call names another local model, and the chat model is loaded again for the next line."""
    play = Play().build(card(slots=2), holding={"gpu-a": [holds("mid", 14336)]}, footprints={"small": 12288})
    play.call("chat", ("mid", 60), runs_s=10)

    play.call("summary", ("small", 70), ("mid", 60), at=1.0, priority="background").until(5)

    assert play.served["summary"] == Served(at=1.0, server="gpu-a", model="mid")
    assert play.loads == []
