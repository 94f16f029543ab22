"""Of many servers only those that changed are drawn, and what is shown is the same."""

from kubemoot_web.board.picture import picture_of
from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica
from scheduler.core.types import LoadUnderWay, TicketState
from tests.board.views import NOW, copy, record, ticket

STEPS = [
    ("ticket", "t1", ticket()),
    ("ticket", "t2", ticket("t2", server="gpu-2", model="unheard-of", state=TicketState.LOADING)),
    ("footprint", "unheard-of", 4096),
    ("load", "l", LoadUnderWay(server="gpu-2", model="qwen3:8b", footprint_mib=6144, started_at=NOW)),
    ("server", "gpu-3", record("gpu-3")),
    ("server", "gpu-3", record("gpu-3", seen={"phase": "stale", "ready": False})),
    ("ticket", "t1", None),
    ("server", "gpu-3", None),
    ("load", "l", None),
]


def test_remembered_cards_show_what_fresh_ones_would():
    config, drawn = SchedulerConfig(), {}
    replica = Replica(config=config)
    servers = [("server", name, docs.to_doc(record(name, residents=[copy()]))) for name in ("gpu-1", "gpu-2")]
    replica.reset(version=1, deltas=servers)
    before = picture_of(replica=replica, config=config, calls=(), now=NOW, drawn=drawn)
    for step, (table, key, value) in enumerate(STEPS, start=1):
        replica.apply(version=1 + step, deltas=[(table, key, None if value is None else docs.to_doc(value))])

        remembered = picture_of(replica=replica, config=config, calls=(), now=NOW + step, drawn=drawn)

        assert remembered == picture_of(replica=replica, config=config, calls=(), now=NOW + step)
    assert remembered.cards[0] == before.cards[0]
    assert set(drawn) == {"gpu-1", "gpu-2"}


def test_a_card_whose_server_did_not_change_is_the_same_one():
    config, drawn = SchedulerConfig(), {}
    replica = Replica(config=config)
    replica.reset(version=1, deltas=[("server", name, docs.to_doc(record(name))) for name in ("gpu-1", "gpu-2")])
    before = picture_of(replica=replica, config=config, calls=(), now=NOW, drawn=drawn)

    replica.apply(version=2, deltas=[("ticket", "t1", docs.to_doc(ticket(footprint_mib=1)))])

    after = picture_of(replica=replica, config=config, calls=(), now=NOW + 1, drawn=drawn)
    assert [a is b for a, b in zip(after.cards, before.cards, strict=True)] == [False, True]
