"""What clients list."""

from datetime import datetime

import pytest

from kubemoot_web.gateway.listing import (
    Listed,
    listed_agents,
    listed_models,
    listed_one,
    ollama_ps,
    ollama_show,
    ollama_tags,
    ollama_version,
    openai_list,
)
from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.resident import Resident
from scheduler.core.types import LoadUnderWay


def server(name: str, *, kind: str = "ollama", ready: bool = True, **seen: object) -> ServerRecord:
    """Make a server that said something of itself."""
    config = ServerConfig(name=name, kind=kind, endpoint=f"http://{name}")
    return ServerRecord(config=config, seen=ServerSeen(ready=ready, **seen))  # type: ignore[arg-type]


SERVERS = {
    "gpu-1": server(
        "gpu-1",
        models=("a:1", "b:1"),
        residents=(Resident(model="a:1", footprint_mib=10, context_length=4096, aliases=("a:x",)),),
        version="0.12.10",
    ),
    "gpu-2": server("gpu-2", models=("a:1", "c:1"), version="0.12.9"),
}
LISTED = listed_models(
    servers=SERVERS,
    loads=(LoadUnderWay(server="gpu-2", model="c:1", footprint_mib=5, started_at=0),),
    registered={"d:1"},
    footprints={"a:1": 10, "c:1": None},
)


def test_every_model_is_listed_once_with_how_warm_it_is_and_where():
    assert [(one.name, one.status, one.servers) for one in LISTED] == [
        ("a:1", "loaded", ("gpu-1",)),
        ("a:x", "loaded", ("gpu-1",)),
        ("b:1", "unloaded", ("gpu-1",)),
        ("c:1", "loading", ("gpu-2",)),
        ("d:1", "unloaded", ()),
    ]


def test_the_openai_list_has_what_its_clients_key_on():
    """Open WebUI needs an id and rejects a null name."""
    data = openai_list((*LISTED, *listed_agents({"lab/analyst"})))["data"]

    assert {entry["id"] for entry in data} == {"a:1", "a:x", "b:1", "c:1", "d:1", "agent/lab/analyst"}
    assert all(entry["object"] == "model" and isinstance(entry["created"], int) for entry in data)
    assert not [entry for entry in data if None in entry.values()]


def test_tags_carry_what_the_ollama_command_prints():
    """It cuts twelve letters from the digest, and breaks where there are fewer."""
    for entry in ollama_tags(LISTED)["models"]:
        assert entry["name"] == entry["model"]
        assert len(entry["digest"]) == 64
        assert datetime.fromisoformat(entry["modified_at"]).tzinfo is not None


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("qwen3:8b", "qwen3:8b"),
        ("bge-m3", "bge-m3:latest"),
        ("hf.co/acme/Tiny-GGUF", "hf.co/acme/Tiny-GGUF:latest"),
        ("box:5000/acme/tiny", "box:5000/acme/tiny:latest"),
    ],
)
def test_ollamas_lists_name_models_with_their_tag_as_it_does_itself(name: str, shown: str):
    """LangChain's client refuses to start where its model is not in the list, and finds none by a name without tag."""
    listed = Listed(name=name, status="loaded", servers=("gpu-1",))

    for lines in (ollama_tags([listed]), ollama_ps([listed])):
        assert [(entry["name"], entry["model"]) for entry in lines["models"]] == [(shown, shown)]
    assert [entry["id"] for entry in openai_list([listed])["data"]] == [name]


def test_an_agent_has_no_tag():
    assert [entry["name"] for entry in ollama_tags(listed_agents(["lab/analyst"]))["models"]] == ["agent/lab/analyst"]


@pytest.mark.parametrize(
    ("called", "listed"),
    [
        ("qwen3:8b", "qwen3:8b"),
        ("bge-m3:latest", "bge-m3"),
        ("registry.ollama.ai/library/bge-m3", "bge-m3"),
        ("agent/analyst", "agent/default/analyst"),
        ("agent/lab/analyst", "agent/lab/analyst"),
        ("agent/lab/analyst:latest", "agent/lab/analyst"),
        ("HF.co/Acme/tiny-gguf:latest", "hf.co/acme/Tiny-GGUF"),
        ("M", "M"),
        ("m", "m"),
        ("agent/Analyst", None),
        ("nothing", None),
    ],
)
def test_whatever_a_call_may_name_is_found_in_the_list(called: str, listed: str | None):
    names = ("qwen3:8b", "bge-m3", "hf.co/acme/Tiny-GGUF", "M", "m")
    everything = [Listed(name=name, status="unloaded", servers=()) for name in names]

    found = listed_one(name=called, listed=[*everything, *listed_agents(["default/analyst", "lab/analyst"])])

    assert (found and found.name) == listed


def test_in_memory_is_what_is_loaded_until_a_date_that_clients_can_read():
    models = ollama_ps(LISTED)["models"]

    assert [(entry["name"], entry["size_vram"], entry["context_length"]) for entry in models] == [
        ("a:1", 10 * 1024 * 1024, 4096),
        ("a:x", 0, 4096),
    ]
    assert datetime.fromisoformat(models[0]["expires_at"]).year == 2100


def test_the_version_is_the_lowest_of_those_that_answer_by_number_and_not_by_letter():
    assert ollama_version(SERVERS.values()) == {"version": "0.12.9"}
    assert ollama_version(()) == {"version": "0.12.0"}


def test_versions_of_other_engines_are_none_of_ollamas():
    """A client of Ollama would take a build's number for a very old version."""
    others = (server("cpp", kind="llamacpp", version="b1-7e4c0a9"), server("vllm", kind="vllm", version="0.11.0"))

    assert ollama_version((*SERVERS.values(), *others)) == {"version": "0.12.9"}
    assert ollama_version(others) == {"version": "0.12.0"}


def test_a_model_of_an_engine_that_cannot_describe_it_is_described_by_what_is_known():
    """Clients of Ollama ask before they call, and look for the context length."""
    warm = Resident(model="m", footprint_mib=None, context_length=4096, aliases=("n",))
    servers = (
        server("one", kind="vllm", ready=False, models=("gone",)),
        server("two", kind="llamacpp", models=("m", "cold"), residents=(warm,)),
    )

    shown = {model: ollama_show(servers=servers, model=model) for model in ("m", "n", "cold", "gone", "nobody's")}

    length = {"general.architecture": "unknown", "unknown.context_length": 4096}
    assert [shown[model]["model_info"] for model in ("m", "n")] == [length, length]
    assert shown["cold"]["model_info"] == {"general.architecture": "unknown"}
    assert shown["m"]["capabilities"] == ["completion", "tools"]
    assert (shown["gone"], shown["nobody's"]) == (None, None)
