"""Ranking is made again whenever what it rests on changes, and stored with its reasons."""

import pytest
from asgiref.sync import async_to_sync

from scheduler.core.calls import AgentProfile
from scheduler.core.resources import ResourceKey
from scheduler.core.types import Candidate
from scheduler.models import Agent, Crew, CrewSchedulingPolicy
from scheduler.ports import UnknownAgent
from scheduler.services.ranking import rank_stored
from scheduler.services.resources import resource_delete
from scheduler.stores.catalog import OrmCatalog
from tests.crds.documents import NOW, Told, agent, apply, bundle, crew, model, policy, server

pytestmark = pytest.mark.django_db

FLEET = bundle(
    server("gpu-1", spec="  scheduling: {memoryMiB: 32768}\n"),
    model("qwen3-8b", "qwen3:8b", latency="low", vram=6144),
    model("qwen3-14b", "qwen3:14b", latency="medium", vram=10240),
    model("qwen3-32b", "qwen3:32b", latency="high", vram=20480),
    crew("lab"),
    policy("lab", crew="lab", spec='qualityBias: {default: "0.7", research: "0.9"}'),
    agent("analyst", crew="lab"),
    agent("researcher", crew="lab", spec="{capabilities: [research]}"),
)

catalog = OrmCatalog()


def profile(name):
    return async_to_sync(catalog.agent)(name=name)


def scores(name, phase="mulling"):
    return [(candidate.model, candidate.score) for candidate in profile(name).candidates[phase]]


def status(name):
    return Agent.objects.get(name=name).status


def delete(kind, name):
    key = ResourceKey(kind=kind, namespace="default", name=name)
    async_to_sync(resource_delete)(key=key, now=NOW + 60, changed=Told())


def test_the_worked_example_s_agents_get_their_rankings():
    apply(FLEET)

    assert profile("analyst") == AgentProfile(
        name="default/analyst",
        crew="default/lab",
        candidates={
            phase: (
                Candidate(model="qwen3:32b", score=70),
                Candidate(model="qwen3:14b", score=60),
                Candidate(model="qwen3:8b", score=30),
            )
            for phase in ("mulling", "triage")
        },
        tolerance=10,
    )
    assert scores("researcher") == [("qwen3:32b", 90), ("qwen3:14b", 20), ("qwen3:8b", 10)]
    assert status("analyst")["scheduling"]["mulling"][0] == {
        "model": "qwen3:32b",
        "score": 70,
        "servers": None,
        "why": "quality bias 0.7, latencyClass high",
    }


SMALLER = model("qwen3-32b", "qwen3:32b", latency="low", vram=20480)
NO_BIAS = policy("lab", crew="lab", spec="qualityBias: {default: 0}")
RESEARCHER = agent("analyst", crew="lab", spec="{capabilities: [research]}")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(SMALLER, [("qwen3:14b", 60), ("qwen3:8b", 30), ("qwen3:32b", 30)], id="a model's label"),
        pytest.param(NO_BIAS, [("qwen3:8b", 100), ("qwen3:14b", 0), ("qwen3:32b", 0)], id="the policy"),
        pytest.param(RESEARCHER, [("qwen3:32b", 90), ("qwen3:14b", 20), ("qwen3:8b", 10)], id="the capabilities"),
        pytest.param(agent("analyst"), [("qwen3:8b", 0), ("qwen3:14b", 0), ("qwen3:32b", 0)], id="the crew"),
        pytest.param(
            model("tiny", "tiny:1b"),
            [("qwen3:32b", 70), ("qwen3:14b", 60), ("qwen3:8b", 30), ("tiny:1b", 0)],
            id="a new model",
        ),
    ],
)
def test_a_change_ranks_again(change, expected):
    apply(FLEET)

    apply(change)

    assert scores("analyst") == expected


def test_deleting_a_model_or_the_policy_ranks_again():
    apply(FLEET)

    delete("Model", "qwen3-32b")
    assert scores("analyst") == [("qwen3:14b", 60), ("qwen3:8b", 30)]

    delete("CrewSchedulingPolicy", "lab")
    assert scores("analyst") == [("qwen3:8b", 0), ("qwen3:14b", 0)]


def test_two_objects_of_one_model_are_one_candidate_of_both_servers():
    apply(
        bundle(
            server("gpu-1"),
            server("gpu-2"),
            model("a", "qwen3:14b", server="gpu-1"),
            model("b", "registry.ollama.ai/library/qwen3:14b", server="gpu-2"),
            agent("analyst"),
        )
    )

    assert profile("analyst").candidates["mulling"] == (
        Candidate(model="qwen3:14b", score=0, servers=frozenset({"gpu-1", "gpu-2"})),
    )


def test_an_agent_that_nothing_can_serve_is_unschedulable_and_says_which_selector_nobody_meets():
    apply(FLEET)

    apply(
        policy(
            "lab",
            crew="lab",
            spec="rules: [{phase: triage, require: {matchLabels: {latencyClass: tiny}, "
            "matchExpressions: [{key: params, operator: In, values: [1, 2]}]}}]",
        ),
        now=NOW + 60,
    )

    message = (
        "None of the 3 registered models matches latencyClass=tiny,params in (1,2), which the policy default/lab "
        "requires for the triage phase: label a model so, or change the rule."
    )
    assert status("analyst")["phase"] == "Unschedulable"
    assert status("analyst")["scheduling"]["triage"] == []
    assert len(status("analyst")["scheduling"]["mulling"]) == 3
    assert status("analyst")["conditions"] == [
        {
            "type": "Scheduled",
            "status": "False",
            "reason": "FailedScheduling",
            "message": message,
            "lastTransitionTime": "2026-11-30T00:54:20Z",
        }
    ]
    assert CrewSchedulingPolicy.objects.get().status == {
        "phaseStatus": [
            {"phase": "mulling", "models": 3, "message": ""},
            {"phase": "triage", "models": 0, "message": message},
        ],
        "validationError": "",
        "conditions": [
            {
                "type": "Schedulable",
                "status": "False",
                "reason": "FailedScheduling",
                "message": message,
                "lastTransitionTime": "2026-11-30T00:54:20Z",
            }
        ],
    }
    assert Crew.objects.get().status["phase"] == "Degraded"
    assert profile("analyst").problem == message


def test_a_condition_keeps_its_time_while_it_stays_what_it_was():
    apply(FLEET)
    apply(model("tiny", "tiny:1b", latency="low"), now=NOW + 60)

    assert status("analyst")["conditions"][0]["lastTransitionTime"] == "2026-11-30T00:53:20Z"


def test_a_second_policy_for_a_crew_has_no_effect_and_says_so():
    apply(FLEET)

    apply(policy("zzz", crew="lab", spec="qualityBias: {default: 0}"))

    assert scores("analyst")[0] == ("qwen3:32b", 70)
    assert CrewSchedulingPolicy.objects.get(name="zzz").status["validationError"] == (
        "The policy default/lab governs the crew default/lab already; this one has no effect. Delete one of the two."
    )


def test_an_agent_s_own_settings_come_with_it():
    env = "KUBEMOOT_MODEL_CANDIDATE_TOLERANCE, value: 0}, {name: KUBEMOOT_DISCUSS_GPU_WAIT_LIMIT_SECONDS, value: 45"

    apply(agent("picky", spec=f"{{deployment: {{env: [{{name: {env}}}]}}}}"))

    assert (profile("picky").tolerance, profile("picky").wait_limit_s) == (0, 45)
    assert profile("default/picky").crew == ""


def test_an_unknown_agent_is_unknown():
    with pytest.raises(UnknownAgent, match="There is no agent team-b/ghost"):
        profile("team-b/ghost")


def test_a_crew_s_status_counts_its_agents_and_names_its_coordinator():
    apply(FLEET)
    assert Crew.objects.get().status == {"phase": "Ready", "agentCount": 2}

    apply(agent("chair", crew="lab", spec="{discussRole: coordinator}"))

    assert Crew.objects.get().status == {"phase": "Ready", "agentCount": 3, "coordinatorRef": "chair"}


def test_ranking_again_changes_nothing_when_nothing_changed():
    apply(FLEET)

    assert rank_stored(now=NOW + 60) == 0


def test_capabilities_and_named_models_have_candidates_without_an_agent():
    apply(
        bundle(
            server("gpu-1"),
            model("a", "a:latest", labels="    capability/vision: true\n"),
            model("b", "b", server="gpu-1"),
        )
    )

    assert async_to_sync(catalog.able)(capabilities=["vision"]) == (Candidate(model="a", score=0),)
    assert async_to_sync(catalog.able)(capabilities=["vision", "reasoning"]) == ()
    assert async_to_sync(catalog.named)(model="b:latest") == Candidate(model="b", score=0, servers=frozenset({"gpu-1"}))
    assert async_to_sync(catalog.named)(model="library/c:1b") == Candidate(model="c:1b", score=0)


def test_weights_count_once_an_operator_gives_one():
    apply(bundle(crew("a"), crew("b")))
    assert async_to_sync(catalog.weights)() == {}

    apply(crew("b", spec="{weight: 2.5}"))
    assert async_to_sync(catalog.weights)() == {"default/a": 1, "default/b": 2.5}


def test_servers_and_footprints_come_as_the_scheduler_needs_them():
    figures = "memoryMiB: 24576, reserveMiB: 1024, weight: 50, maxParallel: 2, maxConcurrent: 3, interactiveReserve: 1"
    figures += ", abortsOnDisconnect: false, quarantineOnAmbiguous: true"
    apply(
        bundle(
            server("gpu-1", endpoint="http://GPU-1:11434/v1/", spec=f"  scheduling: {{{figures}}}\n"),
            server("cloud", endpoint="https://models.example.com").replace("ollama", "openai"),
            model("a", "m", vram=100),
            model("b", "m:latest", vram=200),
            model("c", "n"),
        )
    )

    cloud, gpu = async_to_sync(catalog.servers)()
    assert (gpu.name, gpu.endpoint, gpu.total_mib, gpu.reserve_mib, gpu.weight) == (
        "gpu-1", "http://gpu-1:11434", 24576, 1024, 50,
    )  # fmt: skip
    assert (gpu.slots, gpu.max_concurrent, gpu.interactive_reserve, gpu.can_load) == (2, 3, 1, True)
    assert (cloud.slots, cloud.total_mib, cloud.can_load) == (1, None, False)
    assert (gpu.aborts_on_disconnect, cloud.aborts_on_disconnect) == (False, True)
    assert (gpu.quarantine_on_ambiguous, cloud.quarantine_on_ambiguous) == (True, False)
    assert async_to_sync(catalog.footprints)() == {"m": 200}


def test_a_servers_key_is_named_as_its_file_is():
    reference = "  secretRef: {name: rack, key: api}\n"
    apply(
        bundle(
            server("a", endpoint="http://a:1", spec=reference),
            server("b", endpoint="http://b:1", spec="  secretRef: {name: rack}\n"),
            server("c", endpoint="http://c:1", spec=reference).replace("name: c", "name: c, namespace: team-b"),
            server("d", endpoint="http://d:1"),
        )
    )

    found = {each.name: each.secret for each in async_to_sync(catalog.servers)()}
    assert found == {"a": "rack/api", "b": "rack/token", "team-b/c": "team-b/rack/api", "d": None}
