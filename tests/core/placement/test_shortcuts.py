"""The questions that spare a whole decision: each must agree with the decision that it spares."""

import pytest

from scheduler.core.decisions import Evict, Join, Load, Use
from scheduler.core.placement.decide import decide, place_now
from scheduler.core.placement.targets import may_move
from scheduler.core.snapshot_json import read_request, read_snapshot
from tests.core.placement.snapshots import snapshot

SEEDS = range(600)
BLOCK = 100


@pytest.mark.parametrize("block", SEEDS[::BLOCK])
def test_a_free_slot_is_found_without_weighing_exactly_where_the_decision_finds_one(block):
    for seed in range(block, block + BLOCK):
        doc = snapshot(seed)
        picture = read_snapshot(doc)
        request = read_request(doc["request"], now=picture.now)

        decision = decide(request=request, snapshot=picture)

        expected = decision if isinstance(decision, Use | Join) else None
        assert place_now(request=request, snapshot=picture) == expected, seed


@pytest.mark.parametrize("block", SEEDS[::BLOCK])
def test_where_no_server_may_have_the_memory_no_model_is_moved(block):
    for seed in range(block, block + BLOCK):
        doc = snapshot(seed)
        picture = read_snapshot(doc)
        request = read_request(doc["request"], now=picture.now)

        if not may_move(snapshot=picture, candidates=request.acceptable):
            assert not isinstance(decide(request=request, snapshot=picture), Load | Evict), seed
