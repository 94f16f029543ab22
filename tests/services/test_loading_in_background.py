"""Loads at engines that answer when a load begins: their list alone tells how it goes on."""

import pytest

from providers.core.engines.base import HttpReply
from providers.core.types import EngineKind
from providers.services.loading import LoadFailed, LoadStep
from tests.services.loading import LIMITS, SHORT, Report, load
from tests.services.test_loading_scripted import Scripted

PROPS = [{"role": "router", "max_instances": 0}]
BEGUN = [{"success": True}]


def listed(**states):
    return {"data": [{"id": name, "status": {"value": state}} for name, state in states.items()]}


def router(*lists, **more):
    return Scripted(props=PROPS, models=[listed(**states) for states in lists], load=BEGUN, unload=BEGUN, **more)


async def begin(engine, *, victims=(), limits=LIMITS, report=None):
    return await load(
        engine, engine, "new", victims=victims, limits=limits, report=report or Report(), kind=EngineKind.LLAMACPP
    )


async def test_a_load_is_over_when_the_list_says_so():
    engine = router({"new": "unloaded"}, {"new": "loading"}, {"new": "loading"}, {"new": "loaded"})

    result = await begin(engine)

    assert (result.copy.model, result.was_listed) == ("new", False)
    assert engine.sent == [("GET", "props"), ("GET", "models"), ("POST", "load"), *[("GET", "models")] * 3]


async def test_a_victim_is_reported_once_the_list_has_it_out_and_only_then_the_load_begins():
    report = Report()
    before, going, gone = ({"new": "unloaded", "old": state} for state in ("loaded", "loaded", "unloaded"))
    engine = router(before, going, gone, {"new": "loaded", "old": "unloaded"})

    await begin(engine, victims=("old",), report=report)

    assert [model for model, _ in report.gone] == ["old"]
    assert [name for method, name in engine.sent if method == "POST"] == ["unload", "load"]
    assert engine.sent.index(("POST", "load")) == 5


async def test_a_load_that_somebody_else_has_begun_is_waited_for():
    """C20."""
    engine = router({"new": "loading"}, {"new": "loading"}, {"new": "loaded"})
    engine.answers["load"] = [HttpReply(status=400)]

    assert (await begin(engine)).copy.model == "new"


async def test_a_load_that_the_engine_gave_up_fails_at_once():
    engine = router({"new": "unloaded"}, {"new": "loading"}, {"new": "unloaded"})

    with pytest.raises(LoadFailed) as failed:
        await begin(engine)

    assert (failed.value.step, failed.value.hung) == (LoadStep.LOAD, False)
    assert str(failed.value) == "The engine began to load new and gave up. Its own log says why."


async def test_a_load_that_never_ends_is_a_load_that_hangs():
    """The server's health wants to know: probes of it stay green."""
    engine = router({"new": "unloaded"}, {"new": "loading"})

    with pytest.raises(LoadFailed) as failed:
        await begin(engine, limits=SHORT)

    assert (failed.value.step, failed.value.hung) == (LoadStep.LOAD, True)


@pytest.mark.parametrize("kind", [EngineKind.VLLM, EngineKind.OPENAI])
async def test_an_engine_that_loads_nothing_is_not_asked_to(kind):
    engine = Scripted()

    with pytest.raises(LoadFailed, match="This engine loads nothing when told to: start it with new"):
        await load(engine, engine, "new", report=Report(), kind=kind)

    assert engine.sent == []
