"""An index that was kept up to date is the one that would be made afresh, whatever happened to the servers."""

from dataclasses import replace
from random import Random

import pytest

from scheduler.core.index import index_of
from scheduler.core.snapshot_json import read_snapshot
from tests.core.placement.snapshots import MODELS, SERVERS, server, snapshot

STEPS = 30


def random_server(rng, name):
    """Make a server of a random snapshot under another name."""
    doc = snapshot(rng.randrange(1_000_000)) | {"demand": {}}
    doc["servers"] = [server(rng, name=name, models=MODELS, likely=list(MODELS), calm=rng.random() < 0.7)]
    return read_snapshot(doc).servers[name]


@pytest.mark.parametrize("seed", range(40))
def test_replacing_servers_one_by_one_gives_the_index_of_what_they_are_now(seed):
    rng = Random(seed)
    names = rng.sample(SERVERS, rng.randint(1, len(SERVERS)))
    servers = {name: random_server(rng, name) for name in names}
    index = index_of(servers)

    for _ in range(STEPS):
        after = random_server(rng, rng.choice(names))
        index = index.replaced(before=servers[after.name], after=after)
        servers[after.name] = after

        assert index == index_of(servers)


@pytest.mark.parametrize("seed", range(20))
def test_what_if_copies_of_a_snapshot_know_who_can_load_what(seed):
    """Which engines can load a model is remembered from copy to copy until what is on some disk changes."""
    rng = Random(seed)
    picture = read_snapshot(snapshot(seed))

    for _ in range(STEPS):
        name = rng.choice(list(picture.servers))
        picture.index.able(model=rng.choice(MODELS), servers=picture.servers)
        picture = picture.with_server(
            random_server(rng, name) if rng.random() < 0.5 else replace(picture.servers[name])
        )

        for model in MODELS:
            expected = tuple(each.name for each in picture.servers.values() if each.allows(model))
            assert picture.index.able(model=model, servers=picture.servers) == expected


def test_a_snapshot_with_other_servers_forgets_the_look_ups_of_those_before():
    picture = read_snapshot(snapshot(3))
    assert picture.index == index_of(picture.servers)

    emptied = replace(picture, servers={})

    assert emptied.index == index_of({})
