"""A server with other tickets and loads is the same as one made of all its fields."""

from dataclasses import replace
from random import Random

import pytest

from scheduler.core.once import once
from scheduler.core.server import Server
from tests.core.test_index import random_server

WORKED_OUT = [name for name, value in vars(Server).items() if isinstance(value, once)]


@pytest.mark.parametrize("seed", range(50))
def test_what_rests_on_tickets_and_loads_is_worked_out_again(seed):
    rng = Random(seed)
    before, other = random_server(rng, "gpu-1"), random_server(rng, "gpu-1")
    for name in WORKED_OUT:
        getattr(before, name)

    copy = before.with_work(tickets=other.tickets, loads=other.loads)

    expected = replace(before, tickets=other.tickets, loads=other.loads)
    assert copy == expected
    assert {name: getattr(copy, name) for name in WORKED_OUT} == {name: getattr(expected, name) for name in WORKED_OUT}
