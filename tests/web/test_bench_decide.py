"""`manage.py bench decide` on small clusters: that it measures what it says; never how fast this machine is."""

import io
import json

from django.core.management import call_command

from kubemoot_web.management.benches.clusters import NOW, Cluster, Shape
from scheduler.core.decisions import Evict, Load, Queue, Use
from scheduler.core.ledger import GrantChange
from scheduler.core.placement.decide import decide
from scheduler.services.cycle import plan_changes


def test_every_case_is_measured_and_written(tmp_path):
    path, printed = tmp_path / "figures.json", io.StringIO()

    call_command(
        "bench", "decide", "--rounds=3", "--slots=2", "--servers", "3", "6", "--waiters", "5", "9", f"--json={path}",
        stdout=printed, stderr=io.StringIO(),
    )  # fmt: skip

    (document,) = json.loads(path.read_text())
    figures = document["figures"]
    assert list(dict.fromkeys(figure["case"] for figure in figures)) == [
        "a warm slot is free, 3 servers",
        "a warm slot is free, 6 servers",
        "load or queue, 3 servers",
        "load or queue, 6 servers",
        "unload or queue, 3 servers",
        "unload or queue, 6 servers",
        "a freed slot, 5 waiters",
        "a freed slot, 9 waiters",
    ]
    assert all(figure["value"] > 0 for figure in figures)
    assert "floor: 3 dictionary look-ups and a step of a heap" in printed.getvalue()


def test_the_cases_are_what_they_are_called():
    roomy, tight = (Cluster(shape=Shape(servers=20, with_room=with_room)) for with_room in (True, False))

    def decided(cluster, request):
        return decide(request=request, snapshot=cluster.replica.snapshot(now=NOW))

    assert {type(decided(tight, tight.warm_request())) for _ in range(20)} == {Use}
    assert {type(decided(roomy, roomy.weighed_request())) for _ in range(20)} <= {Load, Queue}
    assert {type(decided(tight, tight.weighed_request())) for _ in range(20)} <= {Evict, Queue}


def test_a_freed_slot_serves_one_waiter_and_moves_no_model():
    cluster = Cluster(shape=Shape(servers=20, is_full=True, waiters=40))
    cluster.carry_out(plan_changes(replica=cluster.replica, config=cluster.config, now=NOW))

    cluster.feed(("ticket", cluster.some_ticket(used_up=True).id, None))
    changes = plan_changes(replica=cluster.replica, config=cluster.config, now=NOW)

    (grant,) = (change for change in changes if isinstance(change, GrantChange))
    assert (grant.load, grant.ticket.action) == (None, "use")
