"""What probes change in the ledger, and who is probed when."""

from dataclasses import replace

import pytest

from providers.core.engines.base import FailureKind, ProbeFailure
from providers.core.types import AvailableModel, LoadedCopy, Observation
from scheduler.core.ledger import ServerConfig, ServerLearned, ServerRecord, ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.services.probing import seen_after, server_probe, servers_due
from tests.fakes.engine_server import simulated_engine
from tests.fakes.fixed_resolver import FixedResolver
from tests.services.world import World, call

RECORD = ServerRecord(config=ServerConfig(name="gpu-1", kind="ollama", endpoint="http://gpu-1"))
GOOD = Observation(
    loaded=(LoadedCopy(model="qwen3:14b", footprint_mib=10240, context_length=4096),),
    available=(AvailableModel(model="qwen3:8b", size_mib=5000), AvailableModel(model="qwen3:14b")),
    version="0.11",
)
SILENT = ProbeFailure(kind=FailureKind.NO_ANSWER, detail="The connection was refused.")


def after(record: ServerRecord, *probes: tuple[float, Observation | ProbeFailure]) -> ServerSeen:
    """Play probes on a record."""
    for asked_at, outcome in probes:
        record = replace(record, seen=seen_after(before=record, outcome=outcome, asked_at=asked_at))
    return record.seen


def test_a_good_probe_makes_a_server_ready_with_what_it_holds():
    assert after(RECORD, (10.0, GOOD)) == ServerSeen(
        phase="ready",
        ready=True,
        since=10.0,
        residents=(Resident(model="qwen3:14b", footprint_mib=10240, context_length=4096),),
        models=("qwen3:14b", "qwen3:8b"),
        observed={"qwen3:14b": 10240},
        estimated={"qwen3:8b": 6000},
        version="0.11",
        probed_at=10.0,
    )


def test_a_server_that_stops_answering_is_closed_at_once_and_unreachable_since_then():
    """The last good reading of a dead server must offer nothing (C54)."""
    seen = after(RECORD, (0.5, GOOD), (10.0, SILENT), (20.0, SILENT), (30.0, SILENT))

    assert (seen.phase, seen.ready, seen.since, seen.detail) == (
        "unreachable",
        False,
        10.0,
        "The connection was refused.",
    )
    assert [resident.model for resident in seen.residents] == ["qwen3:14b"]


def test_one_good_probe_ends_an_outage():
    seen = after(RECORD, (1.0, GOOD), (2.0, SILENT), (3.0, SILENT), (4.0, GOOD))

    assert (seen.phase, seen.ready, seen.since, seen.detail) == ("ready", True, 4.0, "")


def test_an_answer_older_than_what_is_known_changes_nothing():
    known = after(RECORD, (10.0, GOOD))

    assert seen_after(before=replace(RECORD, seen=known), outcome=SILENT, asked_at=9.0) == known


def test_green_probes_do_not_hide_that_loads_do_not_finish():
    """The load path of an engine can hang for ever while its lists stay green (C23)."""
    hanging = replace(RECORD, learned=ServerLearned(load_problem="The load of qwen3:32b did not finish."))

    seen = after(hanging, (1.0, GOOD), (2.0, GOOD))

    assert (seen.phase, seen.ready, seen.detail) == ("degraded", True, "The load of qwen3:32b did not finish.")
    healed = seen_after(before=replace(RECORD, seen=seen), outcome=GOOD, asked_at=3.0)
    assert (healed.phase, healed.detail) == ("ready", "")


def test_a_size_once_observed_stays_known_and_spilling_teaches_nothing():
    """Declared sizes are guesses, disk sizes too; what was seen in memory is a fact (C26)."""
    gone = replace(GOOD, loaded=())
    spilled = replace(GOOD, loaded=(LoadedCopy(model="big:70b", footprint_mib=20981, host_mib=23842),))

    assert after(RECORD, (1.0, GOOD), (2.0, gone)).observed == {"qwen3:14b": 10240}
    assert after(RECORD, (1.0, spilled)).observed == {}


async def test_a_model_whose_size_nobody_declared_is_placed_by_its_size_on_disk():
    """Otherwise a person with Ollama and no declared sizes would wait for ever."""
    world = await World().holding()
    await world.ledger.configure(
        servers=[record.config for record in world.ledger.replica.servers.values()], footprints={}, weights={}
    )
    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=1)
    seen = ServerSeen(phase="ready", ready=True, models=("mistral:7b",), estimated={"mistral:7b": 5000}, probed_at=2e3)
    await world.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)

    await world.submit(call("default/a", "mistral:7b"))

    assert [(load.model, load.footprint_mib) for load in world.effects.loads] == [("mistral:7b", 5000)]


def test_a_second_name_of_the_same_weights_is_no_second_copy():
    """Two tags of one digest: asking for the other name is no cold load (C08)."""
    outcome = replace(GOOD, loaded=(LoadedCopy(model="chat-prod", footprint_mib=13352, aliases=("gpt-oss:20b",)),))

    (resident,) = after(RECORD, (1.0, outcome)).residents

    assert (resident.model, resident.aliases, resident.footprint_mib) == ("chat-prod", ("gpt-oss:20b",), 13352)


async def test_a_call_by_the_other_name_uses_the_copy_and_is_told_that_name():
    world = await World().holding()
    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=1)
    resident = Resident(model="chat-prod", footprint_mib=13352, aliases=("gpt-oss:20b",))
    seen = ServerSeen(phase="ready", ready=True, since=1.0, residents=(resident,), probed_at=2000.0)
    await world.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)

    answer = await world.submit(call("default/a", "gpt-oss:20b"))

    assert (answer.ticket.server, answer.ticket.model, answer.ticket.asked) == ("gpu-1", "chat-prod", "gpt-oss:20b")
    assert world.effects.loads == []


@pytest.mark.parametrize(
    ("age_s", "waits", "due"),
    [(0.5, False, False), (2.0, False, False), (2.0, True, True), (11.0, False, True)],
    ids=["just probed", "quiet: not yet", "somebody waits: soon", "quiet: at last"],
)
async def test_servers_are_probed_fast_only_where_something_waits(age_s: float, waits: bool, due: bool):
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    await world.submit(call("default/a", "qwen3:14b"))
    if waits:
        await world.submit(call("default/b", "qwen3:14b"))
    world.clock.advance(age_s)

    names = servers_due(replica=world.ledger.replica, config=world.config, now=world.clock())

    assert names == (("gpu-1", "gpu-2") if due else ())


async def test_two_probes_of_one_server_never_overlap():
    """A hanging server, or two timers, must not pile probes up (C90)."""
    world = await World().holding()

    assert await world.ledger.probe_begin(server="gpu-1", lease_s=10) is not None
    assert await world.ledger.probe_begin(server="gpu-1", lease_s=10) is None


async def test_a_probe_of_a_real_server_brings_its_models_into_the_ledger_and_where_it_leads(engine_http):
    async with simulated_engine() as engine:
        world = World()
        server = ServerConfig(name="gpu-1", kind="ollama", endpoint=engine.url, total_mib=32768)
        await world.ledger.configure(servers=[server], footprints={}, weights={})
        resolver = FixedResolver("10.0.0.5", "localhost")

        async def probe() -> bool:
            world.clock.advance(60)
            return await server_probe(
                **world.parts, engine=engine_http, resolver=resolver, now=world.clock, server="gpu-1"
            )

        changed = await probe()
        record = world.ledger.replica.servers["gpu-1"]
        assert changed
        assert (record.seen.phase, record.seen.ready, record.seen.residents) == ("ready", True, ())
        assert "qwen3:14b" in (record.seen.models or ())
        assert record.seen.addresses == ("10.0.0.5", "localhost")

        for places, is_news in [(("10.0.0.5",), False), (None, False), (("10.0.0.6",), True)]:
            resolver.places = places
            assert await probe() is is_news

    assert world.ledger.replica.servers["gpu-1"].seen.addresses == ("10.0.0.6",)
