"""When a server may be merged into another one."""

import pytest

from scheduler.core.gate import Admission, AdmissionState
from scheduler.core.merging import MergeRefused, check_merge
from scheduler.core.types import LoadUnderWay, TicketState
from tests.board.views import NOON, copy, record, ticket
from tests.details.replicas import replica_of

LOAD = LoadUnderWay(server="gpu-2", model="qwen3:32b", footprint_mib=1, started_at=NOON)
RUNS = ("ticket", "t1", ticket(server="gpu-2"))
HELD = ("ticket", "t2", ticket("t2", server="gpu-2", state=TicketState.PLANNED))


def check(*rows, state=AdmissionState.DRAINING, server="gpu-2"):
    """Merge gpu-2 into gpu-1, as far as that may be done."""
    servers = [("server", "gpu-1", record()), ("server", "gpu-2", record("gpu-2", residents=[copy()]))]
    name, key, one = servers[1]
    servers[1] = (name, key, type(one)(config=one.config, seen=one.seen, admission=Admission(state=state, since=NOON)))
    check_merge(replica=replica_of(*servers, *rows), server=server, into="gpu-1", now=NOON)


@pytest.mark.parametrize("state", [AdmissionState.DRAINING, AdmissionState.PAUSED, AdmissionState.QUARANTINED])
def test_a_server_that_takes_no_calls_and_runs_none_may_be_merged(state):
    check(HELD, state=state)


@pytest.mark.parametrize(
    ("rows", "more", "says"),
    [
        (
            (),
            {"state": AdmissionState.OPEN},
            "gpu-2 still takes calls: drain it first, so that merging it cuts nothing off.",
        ),
        ((RUNS,), {}, "1 call or load still runs on gpu-2: merge it once it is drained."),
        (
            (RUNS, ("load", "gpu-2 qwen3:32b", LOAD)),
            {},
            "2 calls or loads still run on gpu-2: merge it once it is drained.",
        ),
        ((), {"server": "gpu-1"}, "gpu-1 cannot be merged into itself: name another server."),
    ],
    ids=["open", "a call runs", "a call and a load", "itself"],
)
def test_what_would_be_cut_off_stands_in_the_way(rows, more, says):
    with pytest.raises(MergeRefused) as refused:
        check(*rows, **more)

    assert str(refused.value) == says
