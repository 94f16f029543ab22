"""How `manage.py bench` shows what was measured."""

import pytest

from kubemoot_web.management.benches.figures import Better, Figure, Floor, percentile
from kubemoot_web.management.benches.table import document, table

FLOOR = Floor(what="an empty call", value=0.5)
QUICK = Figure(case="a call", measure="median", value=42.0, unit="us", goal=60.0, floor=FLOOR)
SLOW = Figure(case="a call", measure="per second", value=900, unit="/s", goal=2500, better=Better.HIGHER)
RATIO = Figure(case="larger", measure="ratio", value=3.25, unit="x")


def test_each_figure_stands_beside_its_goal_and_its_floor():
    assert table((QUICK, SLOW, RATIO)).splitlines() == [
        "case    measure     value   goal              floor    times floor",
        "------  ----------  ------  --------  ------  -------  -----------",
        "a call  median      42 us   <= 60     ok      0.50 us  84x",
        "a call  per second  900 /s  >= 2,500  missed",
        "larger  ratio       3.25 x",
        "floor: an empty call",
    ]


def test_programs_read_the_same_figures():
    assert document(bench="decide", figures=(QUICK, RATIO)) == {
        "bench": "decide",
        "figures": [
            {
                "case": "a call",
                "measure": "median",
                "value": 42.0,
                "unit": "us",
                "goal": 60.0,
                "better": "lower",
                "reached": True,
                "floor": {"what": "an empty call", "value": 0.5},
            },
            {
                "case": "larger",
                "measure": "ratio",
                "value": 3.25,
                "unit": "x",
                "goal": None,
                "better": "lower",
                "reached": None,
                "floor": None,
            },
        ],
    }


@pytest.mark.parametrize(("share", "expected"), [(0.5, 51), (0.99, 100), (1.0, 100), (0.0, 1)])
def test_a_percentile_is_one_of_the_samples(share, expected):
    assert percentile(range(100, 0, -1), share) == expected


def test_nothing_has_no_percentile():
    with pytest.raises(ValueError, match="nothing to take a percentile of"):
        percentile([], 0.5)
