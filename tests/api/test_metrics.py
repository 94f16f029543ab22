"""What Prometheus reads."""

import json
import re
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from prometheus_client.parser import text_string_to_metric_families

from kubemoot_web.access import token_create
from providers.core.specs import ResourceGroup
from scheduler import bootstrap
from scheduler.core.attempt_history import AttemptOutcome
from scheduler.core.ledger import JournalEntry, ServerConfig
from scheduler.models import AttemptTally
from scheduler.stores.history import OrmHistory

pytestmark = pytest.mark.django_db(transaction=True)
DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/kubemoot.json"
CALL = {"agent": "default/a", "priority": "interactive", "purpose": "mulling"}


def entry(number, *events):
    return JournalEntry(id=f"{number}-0", version=number, at=1000.0 + number, events=events)


def ran(call, number, *, model="m", server="gpu-1", end="ok"):
    """Tell of a call that queued for a second and ran for ten."""
    about = {**CALL, "call": call, "model": model, "server": server}
    return [
        entry(number, {**about, "type": "enqueued"}),
        entry(number + 1, {**about, "type": "granted", "action": "use", "arrived_at": 1000.0 + number}),
        entry(number + 2, {**about, "type": "delivered"}),
        entry(number + 11, {**about, "type": "released", "ok": end == "ok", "end": end}),
    ]


@pytest.fixture
async def scrape():
    """Scrape as Prometheus does, with a key."""
    token = await token_create(name="prometheus", scopes=["read"], lifetime=None)
    client = AsyncClient()
    rt = await bootstrap.runtime()
    gpu = ServerConfig(
        name="gpu-1",
        kind="ollama",
        endpoint="http://gpu-1",
        total_mib=32768,
        max_concurrent=3,
        resource_group=ResourceGroup(name="bus-1", max_concurrent=2),
    )
    await rt.ledger.configure(servers=[gpu], footprints={"m": 1000, "n": 1000}, weights={})

    async def samples():
        answer = await client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200
        families = text_string_to_metric_families(answer.content.decode())
        return {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    yield samples
    await rt.ledger.configure(servers=[], footprints={}, weights={})
    await bootstrap.close()


def labelled(name, **labels):
    return (name, *sorted(labels.items()))


async def test_attempts_are_summed_once_each_however_often_the_journal_is_read(scrape):
    history = OrmHistory(ledger="test")
    told = [*ran("c1", 1), *ran("c2", 20, model="n"), *ran("c3", 40, end="error")]
    await history.write(entries=told[:6])
    await history.write(entries=told)
    await OrmHistory(ledger="test").write(entries=told)

    found = await scrape()

    assert found[labelled("kubemoot_attempts_total", endpoint="gpu-1", outcome="ok")] == 2
    assert found[labelled("kubemoot_attempts_total", endpoint="gpu-1", outcome="error")] == 1
    waited = {"endpoint": "gpu-1", "class": "interactive", "purpose": "mulling"}
    assert found[labelled("kubemoot_admission_queue_seconds_count", **waited)] == 3
    assert found[labelled("kubemoot_admission_queue_seconds_sum", **waited)] == 3.0
    assert found[labelled("kubemoot_admission_queue_seconds_bucket", le="0.25", **waited)] == 0
    assert found[labelled("kubemoot_admission_queue_seconds_bucket", le="1.0", **waited)] == 3
    run = {"endpoint": "gpu-1", "provider": "ollama", "model": "n", "purpose": "mulling", "outcome": "ok"}
    assert found[labelled("kubemoot_attempt_seconds_sum", **run)] == 10.0
    assert found[labelled("kubemoot_model_switches_total", endpoint="gpu-1")] == 2


async def test_what_is_not_registered_is_never_a_label(scrape):
    """A-55: a name that a caller made up would be a series for ever."""
    await OrmHistory(ledger="test").write(entries=[*ran("c1", 1, model="made-up", server="elsewhere")])

    found = await scrape()

    assert found[labelled("kubemoot_attempts_total", endpoint="other", outcome="ok")] == 1
    assert not [key for key in found if "made-up" in str(key) or "elsewhere" in str(key)]
    assert await sync_to_async(AttemptTally.objects.count)() == 1


async def test_the_present_is_told_of_every_endpoint(scrape):
    found = await scrape()

    assert found[labelled("kubemoot_admission_cap", endpoint="gpu-1")] == 3
    assert found[labelled("kubemoot_resource_group_cap", group="bus-1")] == 2
    assert found[labelled("kubemoot_resource_group_inflight", group="bus-1")] == 0
    assert found[labelled("kubemoot_endpoint_ready", endpoint="gpu-1")] == 0
    assert found[labelled("kubemoot_inflight", endpoint="gpu-1", **{"class": "background"})] == 0
    assert found[labelled("kubemoot_queue_depth", endpoint="none", **{"class": "interactive"})] == 0


async def test_the_dashboard_asks_for_nothing_that_is_not_there(scrape):
    await OrmHistory(ledger="test").write(entries=ran("c1", 1))
    asked = set(re.findall(r"kubemoot_\w+", DASHBOARD.read_text()))
    json.loads(DASHBOARD.read_text())

    assert asked <= {name for name, *_ in await scrape()}


@pytest.mark.parametrize(("scopes", "status"), [(None, 401), (["call"], 403)])
async def test_a_stranger_reads_no_metrics(scopes, status):
    headers = {}
    if scopes is not None:
        token = await token_create(name="robot", scopes=scopes, lifetime=None)
        headers = {"Authorization": f"Bearer {token}"}

    assert (await AsyncClient().get("/metrics", headers=headers)).status_code == status


async def test_calls_that_a_process_places_without_the_ledger_are_counted_by_it(scrape):
    """A-33: the ledger knows nothing of them."""
    local = (await bootstrap.runtime()).doors.local
    before = await scrape()
    local.ended["gpu-1", AttemptOutcome.OK] += 2
    local.ended["gone", AttemptOutcome.ERROR] += 1
    local.ended["", AttemptOutcome.ADMISSION_UNAVAILABLE] += 3

    found = await scrape()

    assert [before[labelled(f"kubemoot_local_{name}", endpoint="gpu-1")] for name in ("mode", "inflight")] == [0, 0]
    assert found[labelled("kubemoot_local_queue_depth")] == 0
    assert {key: value for key, value in found.items() if key[0] == "kubemoot_local_attempts_total"} == {
        labelled("kubemoot_local_attempts_total", endpoint="gpu-1", outcome="ok"): 2,
        labelled("kubemoot_local_attempts_total", endpoint="other", outcome="error"): 1,
        labelled("kubemoot_local_attempts_total", endpoint="none", outcome="admission_unavailable"): 3,
    }
