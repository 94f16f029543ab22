"""Which models go: the fewest that make room, among equally few the least needed, exactly."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.placement.demand import Need
from scheduler.core.placement.eviction import Victim, fewest_least_needed


def victim(model: str, mib: int, *, waiting: int = 0, intents: int = 0, use: float = 0.0, used: float = 0.0) -> Victim:
    need = Need(waiting=waiting, intents=intents, use=use, last_used=used)
    return Victim(model=model, footprint_mib=mib, need=need)


def by_trying_every_set(victims: Sequence[Victim], room_mib: int) -> tuple[str, ...] | None:
    """Do what the text says, set by set."""
    for count in range(1, len(victims) + 1):
        sets = [s for s in combinations(victims, count) if sum(v.footprint_mib for v in s) >= room_mib]
        if sets:
            best = min(sets, key=lambda s: (sorted(v.need for v in s), sorted(v.model for v in s)))
            return tuple(v.model for v in sorted(best, key=lambda v: (v.need, v.model)))
    return None


CASES = [
    ("One large enough goes before two less needed", ["big"], 8, [("s1", 4), ("s2", 4), ("big", 8, {"use": 9.0})]),
    ("Two go when no one alone makes room", ["s1", "s2"], 8, [("s1", 4), ("s2", 4), ("s3", 4, {"use": 1.0})]),
    ("Nobody waiting beats never used", ["used"], 4, [("wanted", 4, {"waiting": 1}), ("used", 4, {"use": 50.0})]),
    ("Fewer waiting beats fewer intents", ["b"], 4, [("a", 4, {"waiting": 2}), ("b", 4, {"waiting": 1, "intents": 9})]),
    ("Fewer intents beats less use", ["b"], 4, [("a", 4, {"intents": 1}), ("b", 4, {"use": 9.0})]),
    ("Less use beats longer unused", ["b"], 4, [("a", 4, {"use": 1.0, "used": 1.0}), ("b", 4, {"used": 9.0})]),
    ("Longer unused beats the name", ["b"], 4, [("a", 4, {"used": 9.0}), ("b", 4, {"used": 1.0})]),
    ("The name decides between equals", ["a"], 4, [("b", 4), ("a", 4)]),
    ("The least needed decides first", ["a", "c"], 8, [("a", 4), ("b", 4, {"use": 1.0}), ("c", 7, {"use": 0.5})]),
    ("The least needed that is no help stays", ["c", "b"], 8, [("a", 1), ("b", 4, {"use": 1.0}), ("c", 4)]),
    ("Room to the last MiB is room", ["a"], 4, [("a", 4)]),
    ("All together too small: nobody goes", None, 9, [("a", 4), ("b", 4)]),
    ("Nobody there: nobody goes", None, 1, []),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "room", "residents"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_victims(expected, room, residents):
    victims = [victim(name, mib, **(more[0] if more else {})) for name, mib, *more in residents]

    chosen = fewest_least_needed(victims=victims, room_mib=room)

    assert (None if chosen is None else [v.model for v in chosen]) == expected


needs = st.builds(
    Need,
    waiting=st.integers(0, 1),
    intents=st.integers(0, 1),
    use=st.sampled_from((0.0, 1.0)),
    last_used=st.sampled_from((0.0, 1.0)),
)
residents = st.lists(st.tuples(needs, st.integers(1, 9)), max_size=9)


@settings(max_examples=400, derandomize=True)
@given(drawn=residents, room=st.integers(1, 40))
def test_no_other_set_is_smaller_or_less_needed(drawn, room):
    victims = [Victim(model=f"m{i}", footprint_mib=mib, need=need) for i, (need, mib) in enumerate(drawn)]

    chosen = fewest_least_needed(victims=victims, room_mib=room)

    assert (None if chosen is None else tuple(v.model for v in chosen)) == by_trying_every_set(victims, room)


def test_a_server_with_hundreds_of_small_models_is_decided_at_once():
    """Trying every set of 300 models would never end; the choice takes polynomial time."""
    victims = [victim(f"m{i:03}", 1 + i % 7, use=float(i % 3), used=float(i % 11)) for i in range(300)]

    chosen = fewest_least_needed(victims=victims, room_mib=400)

    assert chosen is not None
    assert sum(v.footprint_mib for v in chosen) >= 400
