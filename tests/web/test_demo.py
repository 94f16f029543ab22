"""The demo tells a story: everybody in it exists, and memory is always too short for all of it."""

import asyncio
from io import StringIO
from itertools import product

import pytest
import yaml
from asgiref.sync import sync_to_async
from django.conf import settings

from kubemoot_web.crds.bundle import Source
from kubemoot_web.crds.importing import bundle_apply
from kubemoot_web.management.commands import demo_agents
from kubemoot_web.management.commands.demo_agents import Api, Command, ask_engine, outcome_of
from kubemoot_web.management.demo import MEMORY_BY_PORT, MODELS
from kubemoot_web.management.demo_scenes import SCENES
from providers.bootstrap import engine_api
from providers.core.engines.base import HttpReply, Trouble
from providers.simulator.catalog import parse_models
from scheduler import queries
from scheduler.core.snapshot import Server
from scheduler.core.types import CallRequest
from tests.engines.conftest import RECORDED
from tests.fakes.engine_server import simulated_engine
from tests.fakes.raw_server import answering, raw_server

DOCUMENTS = list(yaml.safe_load_all((settings.BASE_DIR / "deploy" / "demo.yaml").read_text()))


def of_kind(kind: str) -> list[dict]:
    return [document for document in DOCUMENTS if document["kind"] == kind]


def test_every_agent_of_a_scene_is_registered_in_the_crew_that_it_plays_for():
    crews = {
        f"default/{agent['metadata']['name']}": agent["metadata"]["labels"]["kubemoot.ai/crew"]
        for agent in of_kind("Agent")
    }

    played = {(agent, part.crew) for scene in SCENES for part in scene.parts for agent in part.agents}

    assert played == set(crews.items())


def test_the_engines_have_exactly_the_models_that_are_declared_with_their_sizes():
    declared = {model["spec"]["model"]: model["spec"]["vramMib"] for model in of_kind("Model")}

    assert {name: m.footprint_mib for name, m in parse_models(",".join(MODELS)).items()} == declared


def test_all_but_one_model_fit_at_once_and_never_all_of_them():
    """A demo whose models all fit stands still after a minute: nothing is loaded or unloaded any more."""
    sizes = [model.footprint_mib for model in parse_models(",".join(MODELS)).values()]
    rooms = [Server(name=str(mib), total_mib=mib).usable_mib for mib in MEMORY_BY_PORT.values()]

    def fit(some: list[int]) -> bool:
        return any(
            all(
                sum(size for size, at in zip(some, places, strict=True) if at == place) <= room
                for place, room in enumerate(rooms)
            )
            for places in product(range(len(rooms)), repeat=len(some))
        )

    assert not fit(sizes)
    assert all(fit([other for other in sizes if other != size]) for size in sizes)


def test_two_callers_meet_at_one_slot_and_a_background_job_meets_a_rush():
    crowded = [scene for scene in SCENES if sum("default/researcher" in part.agents for part in scene.parts) > 1]
    rush = SCENES[-1]

    assert crowded
    assert [part.is_job for part in rush.parts if part.crew == "archive"] == [True]
    assert rush.lasts_s > 30, "a drain begins after two thirds of the archivist's 45 s"


@pytest.mark.django_db(transaction=True)
async def test_each_model_has_an_agent_that_takes_nothing_else():
    """With an agent for every model who tolerates another one too, the demo settles on what it happens to hold."""
    text = (settings.BASE_DIR / "deploy" / "demo.yaml").read_text()

    async def told(_):
        return

    await bundle_apply(
        sources=[Source(file="demo.yaml", text=text)], dry_run=False, node="here", now=1000.0, changed=told
    )
    agents = [agent for scene in SCENES for part in scene.parts for agent in part.agents]
    profiles = [await sync_to_async(queries.agent_profile)(name) for name in sorted(set(agents))]
    requests = [CallRequest(agent=p.name, candidates=p.candidates["mulling"], tolerance=p.tolerance) for p in profiles]
    accepted = {request.agent: [c.model for c in request.acceptable] for request in requests}

    assert sorted(models[0] for models in accepted.values() if len(models) == 1) == sorted(MODELS)
    assert accepted["default/analyst"] == ["qwen3:32b", "qwen3:14b"]


ENDINGS = {
    "stream_good": {"ok": True, "promptTokens": 12, "completionTokens": 1},
    "stream_characters": {"ok": True, "promptTokens": 3, "completionTokens": 2},
    "stream_no_final_record": {"ok": False},
    "stream_error_object": {"ok": False},
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_answer_that_is_not_whole_is_no_success_and_counts_no_tokens(name):
    """C58: without its final mark, or with an error object after HTTP 200, an answer is no success."""
    body = (RECORDED / f"{name}.ndjson").read_bytes()

    assert outcome_of(reply=HttpReply(status=200, body=body)) == ENDINGS[name]


@pytest.mark.parametrize("reply", [HttpReply(status=500), HttpReply(status=200), HttpReply(trouble=Trouble.REFUSED)])
def test_no_answer_is_no_success_either(reply):
    assert outcome_of(reply=reply) == {"ok": False}


async def test_a_simulated_agent_asks_the_engine_that_its_ticket_names():
    async with simulated_engine() as server, engine_api() as engine:
        ticket = {"model": "qwen3:8b", "endpoint": server.url, "options": {"num_ctx": 4096}}

        outcome = await ask_engine(engine=engine, ticket=ticket)

        assert outcome == {"ok": True, "promptTokens": 20, "completionTokens": 48}
        assert server.engine.journal.reloads == 0


async def test_an_agent_that_is_refused_takes_a_breath_before_it_asks_again(monkeypatch):
    """A rush has no pauses: when the API answered 500, its agents asked a hundred times a second."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    refusal = b'{"error": {"code": "internal", "message": "Something went wrong."}}'
    head = b"HTTP/1.1 500 No\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(refusal)
    async with raw_server(answering(head + refusal)) as raw, engine_api() as engine:
        api = Api(address=raw.url, token="t", engine=engine)
        monkeypatch.setattr(asyncio, "sleep", sleep)
        command = Command(stdout=StringIO())
        await command._contribute(api, agent="default/scout", thread="t", is_job=False, thinking_s=0.0)

    assert pauses == [0.0, demo_agents.BREATH_S]
