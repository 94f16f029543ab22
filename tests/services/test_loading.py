"""Loads and unloads, against a simulated engine over real HTTP."""

import asyncio

import pytest

from providers.clients.engine import EngineHttp
from providers.core.types import LoadedCopy
from providers.services.loading import LoadFailed, LoadStep
from tests.fakes.engine_server import eventually, simulated_engine
from tests.services.loading import SHORT, Report, load, story


@pytest.fixture
async def door():
    async with EngineHttp() as door:
        yield door


@pytest.fixture
async def server():
    async with simulated_engine(memory_mib=24576, unload_s=2.0) as server:
        yield server


async def test_a_cold_load_gives_the_copy_as_the_engine_lists_it(door, server):
    result = await load(door, server, "qwen3:14b", context_length=8192)

    digest = server.engine.config.models["qwen3:14b"].digest
    assert result.copy == LoadedCopy(model="qwen3:14b", footprint_mib=10240, digest=digest, context_length=8192)
    assert not result.was_listed
    assert result.load_s >= 10240 / 1024 / server.engine.config.speed


async def test_victims_are_gone_before_the_load_begins_and_are_reported_only_then(door, server):
    await load(door, server, "qwen3:14b")
    await load(door, server, "qwen3:8b")
    server.engine.journal.events.clear()
    report = Report(server)

    await load(door, server, "qwen3:32b", victims=("qwen3:14b", "qwen3:8b"), report=report)

    assert report.gone == [("qwen3:14b", ["qwen3:8b"]), ("qwen3:8b", [])]
    assert story(server) == [
        ("unload", "qwen3:14b"),
        ("unload_end", "qwen3:14b"),
        ("unload", "qwen3:8b"),
        ("unload_end", "qwen3:8b"),
        ("load_start", "qwen3:32b"),
        ("load_end", "qwen3:32b"),
    ]
    assert server.engine.journal.self_evictions == 0


async def test_a_victim_that_is_not_there_is_reported_and_nothing_is_sent_for_it(door, server):
    report = Report(server)

    await load(door, server, "qwen3:8b", victims=("qwen3:32b",), report=report)

    assert report.gone == [("qwen3:32b", [])]
    assert ("unload", "qwen3:32b") not in story(server)


async def test_a_victim_that_does_not_go_fails_the_load_before_it_was_sent(door, server):
    """Never "the unload failed, load anyway": the engine would have to evict by itself."""
    await load(door, server, "qwen3:14b")
    server.engine.faults.switch({"unload_ignored": True})
    report = Report(server)

    with pytest.raises(LoadFailed) as failed:
        await load(door, server, "qwen3:32b", victims=("qwen3:14b",), limits=SHORT, report=report)

    assert (failed.value.step, failed.value.model, failed.value.hung) == (LoadStep.UNLOAD, "qwen3:14b", True)
    assert str(failed.value) == (
        "qwen3:14b is still in memory 0.1 s after the engine was told to unload it. "
        "A call that Kubemoot does not know of may be holding it."
    )
    assert report.gone == []
    assert ("load_start", "qwen3:32b") not in story(server)


async def test_a_victim_with_a_call_of_somebody_else_in_flight_is_waited_for(door, server):
    await load(door, server, "qwen3:14b")
    engine = server.engine
    async with engine.hold(model=engine.config.models["qwen3:14b"], num_ctx=None, keep_alive_s=None):
        loading = asyncio.create_task(load(door, server, "qwen3:32b", victims=("qwen3:14b",)))
        await eventually(lambda: ("unload", "qwen3:14b") in story(server))
        assert not loading.done()

    result = await loading

    assert result.copy.model == "qwen3:32b"
    assert engine.journal.self_evictions == 0


async def test_a_load_that_breaks_says_so(door, server):
    server.engine.faults.switch({"load_fail": True})

    with pytest.raises(LoadFailed) as failed:
        await load(door, server, "qwen3:14b")

    assert (failed.value.step, failed.value.hung) == (LoadStep.LOAD, False)
    assert str(failed.value) == "POST /api/generate for qwen3:14b answered HTTP 500. The engine's own log says why."


async def test_a_load_that_hangs_ends_by_its_limit_and_closes_its_connection(door, server):
    """C23: probes stay green; the limit of the load is the only thing that ends it."""
    server.engine.faults.switch({"load_hang": True})

    with pytest.raises(LoadFailed) as failed:
        await load(door, server, "qwen3:14b", limits=SHORT)

    assert (failed.value.step, failed.value.hung) == (LoadStep.LOAD, True)
    assert str(failed.value) == (
        "Loads do not finish, though probes are answered: qwen3:14b was not loaded after 0.1 s. "
        "A restart of the engine may help."
    )
    await eventually(lambda: ("load_abort", "qwen3:14b") in story(server))


async def test_a_full_queue_fails_the_load_as_busy(door, server):
    """C14"""
    server.engine.faults.switch({"busy503": True})

    with pytest.raises(LoadFailed, match="It is busy, not broken"):
        await load(door, server, "qwen3:14b")


async def test_a_model_that_is_not_on_the_disk_says_so(door, server):
    with pytest.raises(LoadFailed, match="does not have no-such:1b on its disk"):
        await load(door, server, "no-such:1b")


async def test_a_model_that_can_only_embed_is_loaded_and_unloaded_by_an_empty_embedding(door, server):
    """C24: such a model refuses to generate, which says nothing about the engine."""
    result = await load(door, server, "nomic-embed-text")
    await load(door, server, "qwen3:8b", victims=("nomic-embed-text",))

    assert result.copy.model == "nomic-embed-text"
    assert [copy.model.name for copy in server.engine.copies.values()] == ["qwen3:8b"]


async def test_a_second_name_of_resident_weights_is_not_loaded_again(door, server):
    """C08: the engine lists the copy under the name it was loaded by."""
    await load(door, server, "chat-prod")

    result = await load(door, server, "gpt-oss:20b")

    assert (result.copy.model, result.was_listed) == ("chat-prod", True)
    assert story(server) == [("load_start", "chat-prod"), ("load_end", "chat-prod")]


async def test_a_victim_is_found_under_its_other_name(door, server):
    """C08"""
    await load(door, server, "chat-prod")
    report = Report(server)

    await load(door, server, "qwen3:32b", victims=("gpt-oss:20b",), report=report)

    assert report.gone == [("gpt-oss:20b", [])]
    assert server.engine.journal.self_evictions == 0


@pytest.mark.parametrize("context", [None, 0, 8192])
async def test_a_model_that_is_already_there_keeps_its_context(door, server, context):
    """C10: loading it with another context, or with none, would make the engine load it anew."""
    await load(door, server, "qwen3:8b", context_length=32768)

    result = await load(door, server, "qwen3:8b", context_length=context)

    assert (result.copy.context_length, result.was_listed, server.engine.journal.reloads) == (32768, True, 0)


async def test_a_model_that_is_listed_while_it_loads_is_not_taken_for_loaded(door, server):
    """The running list is filled from the start of a load on: listed is not yet ready."""
    server.engine.faults.switch({"load_hang": True})
    first = asyncio.create_task(load(door, server, "qwen3:8b"))
    await eventually(lambda: ("load_start", "qwen3:8b") in story(server))
    second = asyncio.create_task(load(door, server, "qwen3:8b"))
    await eventually(lambda: server.engine.journal.requests["POST /api/generate"] == 2)
    assert not second.done()

    server.engine.faults.switch({"load_hang": False})

    assert [(await task).was_listed for task in (first, second)] == [False, True]
    assert story(server) == [("load_start", "qwen3:8b"), ("load_end", "qwen3:8b")]


async def test_cancelling_a_load_ends_it_at_the_engine(door, server):
    server.engine.faults.switch({"load_hang": True})
    loading = asyncio.create_task(load(door, server, "qwen3:14b"))
    await eventually(lambda: ("load_start", "qwen3:14b") in story(server))

    loading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await loading
    await eventually(lambda: server.engine.copies == {})


async def test_cancelling_while_a_victim_goes_loads_nothing(door, server):
    await load(door, server, "qwen3:14b")
    server.engine.faults.switch({"unload_ignored": True})
    report = Report(server)
    loading = asyncio.create_task(load(door, server, "qwen3:32b", victims=("qwen3:14b",), report=report))
    await eventually(lambda: ("unload", "qwen3:14b") in story(server))

    loading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await loading
    assert report.gone == []
    assert ("load_start", "qwen3:32b") not in story(server)


async def test_a_server_that_is_away_fails_at_the_first_question(door, server):
    await server.stop_listening()

    with pytest.raises(LoadFailed, match="nothing accepts connections there") as failed:
        await load(door, server, "qwen3:14b")

    assert failed.value.step is LoadStep.ASK
