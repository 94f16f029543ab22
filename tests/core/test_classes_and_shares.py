"""Caps, reserves, classes and fair shares played in time (admission.md A-34, A-41 to A-43)."""

from dataclasses import replace

import pytest

from scheduler.core.placement.decide import place_now
from tests.builders import call, cluster, server
from tests.core.play import Play, at_once, card, holds
from tests.reserves import RESERVES

WARM = {"gpu-a": [holds("m", 1024)]}


@pytest.mark.parametrize(("cap", "reserve", "interactive", "background", "another", "another_background"), RESERVES)
def test_the_reserve_is_for_interactive_calls_alone(cap, reserve, interactive, background, another, another_background):
    """A-41."""
    built = server("gpu-1").loaded("m", slots=9).having(max_concurrent=cap, interactive_reserve=reserve)
    built = built.busy("m", times=interactive).busy("m", times=background, priority="background")
    snapshot = cluster(built).at()
    asked = call("a").prefers("m")

    placed = [place_now(request=each.value, snapshot=snapshot) is not None for each in (asked, asked.background())]

    assert placed == [another, another_background]


@pytest.mark.parametrize(("every_s", "runs_s", "arrives_at"), [(0.5, 1.0, 0.0), (1.0, 4.0, 3.5), (2.0, 9.0, 10.0)])
def test_the_oldest_background_call_starts_after_two_minutes_and_one_call_whatever_interactive_calls_come(
    every_s, runs_s, arrives_at
):
    """A-42, with a cap of 2 and a reserve of 1; the others follow one by one."""
    end, tick_s = arrives_at + 120 + 4 * runs_s + 4, 1.0
    play = Play().build(card(slots=2, max_concurrent=2, interactive_reserve=1), holding=WARM)
    for number in range(int(end / every_s)):
        play.call(f"i{number}", ("m", 60), at=number * every_s, runs_s=runs_s, limit_s=1000)
    for number in range(3):
        play.call(f"b{number}", ("m", 60), at=arrives_at + number, runs_s=runs_s, limit_s=1000, priority="background")

    play.until(end + 4 * runs_s)

    free_at = 0.0
    for number in range(3):
        began = play.served[f"b{number}"].at
        assert began <= max(arrives_at + number + 120, free_at) + runs_s + tick_s
        free_at = began + runs_s


def test_the_bound_holds_where_crews_have_weights_and_background_calls_have_had_many_turns():
    """Each class counts its own turns: one that counts as interactive must not wait until these have caught up."""
    crews = {"chat": 1.0, "night": 1.0}
    play = Play().build(card(slots=2, max_concurrent=2, interactive_reserve=1), holding=WARM, weights=crews)
    for number in range(150):
        play.call(f"old{number}", ("m", 60), at=number / 5, runs_s=0.1, crew="night", priority="background")
    for number in range(200):
        play.call(f"i{number}", ("m", 60), at=40.0 + number, runs_s=4, limit_s=1000, crew="chat")

    play.call("b", ("m", 60), at=50.0, runs_s=4, limit_s=1000, crew="night", priority="background").until(200)

    assert play.served["b"].at <= 50.0 + 120 + 4 + 1


@pytest.mark.parametrize(("weight", "order"), [(1.0, "ABCABAAAA"), (2.0, "ABCAABAAA")])
def test_crews_take_turns_by_their_weights(weight, order):
    """A-43: six, two and one call wait for one place. Each call is a crew's; a crew's own calls go as they came."""
    weights = {"A": weight, "B": 1.0, "C": 1.0, "Z": 1.0}
    play = Play().build(card(), holding=WARM, weights=weights)
    play.call("first", ("m", 60), runs_s=10, crew="Z")
    for number, crew in enumerate("AAAAAABBC"):
        play.call(f"{crew}{number}", ("m", 60), at=1 + number / 100, runs_s=1, limit_s=300, crew=crew)

    play.until(60)

    began = sorted((served.at, key) for key, served in play.served.items() if key != "first")
    assert "".join(key[0] for _, key in began) == order
    assert [key for _, key in began if key[0] == "A"] == [f"A{number}" for number in range(6)]


def capped(play: Play, cap: int) -> None:
    """Have an operator set the cap."""
    configs = [replace(record.config, max_concurrent=cap) for record in play.ledger.replica.servers.values()]
    at_once(play.ledger.configure(servers=configs, footprints={}, weights={}))


def test_a_cap_lowered_below_what_runs_ends_nothing_and_holds_from_then_on():
    """C39: a changed limit had no effect until a restart, or forgot the calls that ran."""
    play = Play().build(card(slots=4, max_concurrent=2), holding=WARM)
    play.call("A", ("m", 60), at=0.0, runs_s=3).call("B", ("m", 60), at=0.5, runs_s=3)
    play.at(1.0, lambda: capped(play, 1))
    play.call("C", ("m", 60), at=1.1, runs_s=3).call("D", ("m", 60), at=3.2, runs_s=3)
    play.at(4.0, lambda: capped(play, 2))

    play.until(20)

    # A ends at 3, B at 3.5: C is the only one then. The raised cap lets D in at once.
    assert {key: served.at for key, served in play.served.items()} == {"A": 0.0, "B": 0.5, "C": 3.5, "D": 4.0}
    assert play.ledger.replica.tickets == {}


def test_a_raised_cap_lets_in_exactly_the_difference():
    """A-34."""
    play = Play().build(card(slots=9, max_concurrent=1), holding=WARM)
    for number in range(6):
        play.call(f"w{number}", ("m", 60), at=number / 10, runs_s=50)
    play.at(5.0, lambda: capped(play, 3))

    play.until(20)

    assert {key: served.at for key, served in play.served.items()} == {"w0": 0.0, "w1": 5.0, "w2": 5.0}


def test_without_a_policy_there_is_no_reserve_and_no_share():
    """A-44: first come, first served within a class."""
    play = Play().build(card(), holding=WARM)
    play.call("busy", ("m", 60), runs_s=5)
    for number, crew in enumerate("AAB"):
        play.call(f"{crew}{number}", ("m", 60), at=1.0 + number, runs_s=1, crew=crew)

    play.until(20)

    assert list(play.served) == ["busy", "A0", "A1", "B2"]
