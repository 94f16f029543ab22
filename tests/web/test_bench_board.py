"""What the board bench counts is really so; how fast it was is nobody's business here."""

import pytest
from websockets.sync.client import connect

from kubemoot_web.management.benches.bare_broadcast import TELL
from kubemoot_web.management.benches.board import BoardBench, late_ms
from kubemoot_web.management.benches.figures import Better
from kubemoot_web.management.benches.watchers import Address, newest_step, watchers
from kubemoot_web.management.benches.web_site import HOST, bare_site

BEGAN = {8: 100.0, 9: 100.25, 10: 100.5}


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        (((8, 100.01), (9, 100.26), (10, 100.52)), [10, 10, 20]),
        (((8, 100.01), (10, 100.51)), [10, 260, 10]),
        (((7, 99.9), (10, 100.6)), [600, 350, 100]),
    ],
    ids=["each by itself", "two in one message", "all in the last, after an older one"],
)
def test_a_step_has_arrived_with_the_first_message_that_shows_it_or_a_newer_one(arrivals, expected):
    assert [round(late) for late in late_ms(began=BEGAN, arrivals=arrivals)] == expected


@pytest.mark.parametrize(
    ("message", "step"),
    [(b"<b>step-9</b><b>step-12</b><b>colleague-40</b>", 12), (b"<b>colleague-1</b>", None), (b"", None)],
)
def test_a_message_is_from_the_newest_step_that_it_shows(message, step):
    assert newest_step(message) == step


def test_every_board_notes_each_step_and_one_of_them_keeps_what_it_was_sent():
    messages = ("step-0", "nothing to see", "step-2")
    with bare_site() as site:
        address = Address(host=HOST, port=site.port, path="/", headers={})
        with (
            watchers(address=address, boards=3, slow=1) as watching,
            connect(f"ws://{HOST}:{site.port}{TELL}") as broadcast,
        ):
            for message in messages:
                broadcast.send(message)
            seen = watching.seen(last=2)

    steps = [tuple(step for step, _ in arrivals) for arrivals in (*seen.arrivals, *seen.slow)]
    assert steps == [(0, 2)] * 4
    assert seen.messages == ("step-0", "step-2")


def test_a_board_that_is_not_let_in_ends_the_bench():
    with bare_site() as site:
        address = Address(host=HOST, port=site.port, path="/", headers={"Sec-WebSocket-Version": "7"})
        with (
            pytest.raises(RuntimeError, match="a board was not let in: server rejected"),
            watchers(address=address, boards=1, slow=0),
        ):
            pass


@pytest.mark.e2e
def test_every_goal_has_a_figure_beside_a_floor_of_the_same_run():
    options = {"boards": 4, "slow": 1, "seconds": 1.0, "servers": 2}

    figures = BoardBench().run(options=options, progress=lambda _: None)

    goals = {figure.measure: (figure.goal, figure.better) for figure in figures if figure.goal is not None}
    assert goals == {
        "CPU": (100.0, Better.LOWER),
        "updates": (3.8, Better.HIGHER),
        "late, to the other": (1.5, Better.LOWER),
        "updates a slow one was spared": (1, Better.HIGHER),
    }
    assert all(figure.floor is not None for figure in figures if figure.measure.startswith(("CPU", "late, m")))
