"""What a call wants, by the name of its model and its headers."""

import pytest

from kubemoot_web.gateway.asking import BadAsk
from kubemoot_web.gateway.wanted import (
    NoSuchModel,
    Patience,
    in_other_case,
    is_known,
    names_of,
    patience_of,
    wanted_of,
    wishes_of,
)
from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.resident import Resident
from scheduler.core.types import Priority


def wanted(model: str, **headers: str):
    """Read a call's name and headers."""
    named = {f"x-kubemoot-{name}": value for name, value in headers.items()}
    return wanted_of(caller="robot", model=model, wishes=wishes_of(named), prompt_tokens=None)


@pytest.mark.parametrize(
    ("model", "agent", "named"),
    [
        ("qwen3:8b", None, "qwen3:8b"),
        ("hf.co/acme/tiny:Q4", None, "hf.co/acme/tiny:Q4"),
        ("agent/lab/analyst", "lab/analyst", None),
        ("agent/analyst", "analyst", None),
        ("agent/lab/analyst:latest", "lab/analyst", None),
        ("automatic", None, "automatic"),
    ],
)
def test_a_name_is_a_model_or_an_agent(model, agent, named):
    found = wanted(model)

    assert (found.agent, found.model, found.capabilities) == (agent, named, ())


@pytest.mark.parametrize("model", ["auto", "auto:latest"])
def test_auto_asks_for_capabilities(model):
    assert wanted(model, capabilities=" tool-calling, reasoning ,").capabilities == ("tool-calling", "reasoning")
    with pytest.raises(BadAsk, match="X-Kubemoot-Capabilities"):
        wanted(model)


def test_capabilities_beside_a_model_change_nothing():
    assert wanted("qwen3:8b", capabilities="vision").capabilities == ()


def test_a_crew_cannot_be_called_yet_and_the_answer_says_what_can():
    with pytest.raises(NoSuchModel, match="agent/NAMESPACE/NAME"):
        wanted("crew/default/lab")


@pytest.mark.parametrize("model", ["a\x00b", "agent/a\nb", "agent/\ud800", "", "x" * 321])
def test_what_is_no_name_is_refused(model):
    with pytest.raises(BadAsk):
        wanted(model)


@pytest.mark.parametrize(
    ("headers", "priority"),
    [
        ({}, Priority.INTERACTIVE),
        ({"purpose": "triage"}, Priority.INTERACTIVE),
        ({"purpose": "Summarization"}, Priority.BACKGROUND),
        ({"purpose": "batch", "priority": "interactive"}, Priority.INTERACTIVE),
        ({"purpose": "vision", "priority": "background"}, Priority.BACKGROUND),
    ],
)
def test_a_purpose_has_a_class_unless_the_call_says_its_own(headers, priority):
    """A-40: interactive are turns, triage, mulling, synthesis, router and vision; the rest is background."""
    assert wanted("m", **headers).priority is priority


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("purpose", "my private project"),
        ("priority", "urgent"),
        ("wait", "soon"),
        ("wait", "-1"),
        ("wait", "nan"),
        ("wait", "inf"),
        ("thread", "x" * 201),
        ("capabilities", ",".join(["c"] * 33)),
    ],
)
def test_a_header_that_cannot_be_understood_is_named_and_not_repeated(name, value):
    with pytest.raises(BadAsk, match=f"(?i)x-kubemoot-{name}") as caught:
        wishes_of({f"x-kubemoot-{name}": value})

    assert value not in str(caught.value)


def test_no_wait_outlasts_the_time_outs_of_client_libraries():
    assert wishes_of({"x-kubemoot-wait": "100000"}).wait_s == 590


@pytest.mark.parametrize(
    ("asked_s", "own_s", "expected"),
    [
        (None, None, Patience(wait_s=90, silence_s=0.8)),
        (None, 20.0, Patience(wait_s=20, silence_s=0.8)),
        (5.0, None, Patience(wait_s=5, silence_s=5.8)),
        (0.0, None, Patience(wait_s=0, silence_s=0.8)),
        (300.0, None, Patience(wait_s=300, silence_s=30.8)),
        (300.0, 20.0, Patience(wait_s=20, silence_s=20.8)),
    ],
)
def test_who_says_how_long_it_waits_is_left_in_silence_for_that_long(asked_s, own_s, expected):
    wishes = wishes_of({} if asked_s is None else {"x-kubemoot-wait": str(asked_s)})

    assert patience_of(wishes=wishes, own_s=own_s, usual_s=90, silence_s=0.8) == expected


@pytest.mark.parametrize(
    ("headers", "silence_s"),
    [
        ({"x-stainless-read-timeout": "600"}, 30.0),
        ({"x-stainless-timeout": "600"}, 30.0),
        ({"x-stainless-timeout": "600", "x-stainless-read-timeout": "20.0"}, 10.0),
        ({"x-stainless-read-timeout": "1"}, 0.5),
        ({"x-stainless-read-timeout": "4", "x-kubemoot-wait": "60"}, 2.0),
        ({"x-stainless-read-timeout": "600", "x-kubemoot-wait": "5"}, 5.8),
        *(({"x-stainless-read-timeout": text}, 0.8) for text in ("", "None", "inf", "nan", "0", "-1", "soon")),
    ],
)
def test_who_says_when_it_gives_up_is_left_in_silence_for_half_of_that(headers, silence_s):
    """What goes wrong meanwhile comes with a status of its own, which every program understands."""
    assert patience_of(wishes=wishes_of(headers), own_s=None, usual_s=90, silence_s=0.8).silence_s == silence_s


def test_a_longer_silence_that_was_set_holds_for_all():
    wishes = wishes_of({"x-stainless-read-timeout": "600"})

    assert patience_of(wishes=wishes, own_s=None, usual_s=90, silence_s=60).silence_s == 60


def server(**seen: object) -> ServerRecord:
    """Make a server that said something of itself."""
    config = ServerConfig(name="gpu-1", kind="ollama", endpoint="http://gpu-1")
    return ServerRecord(config=config, seen=ServerSeen(**seen))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "registered", "servers", "known"),
    [
        ("m:latest", {"m"}, (), True),
        ("m:latest", (), (server(models=("m",)),), True),
        (
            "m:latest",
            (),
            (server(models=(), residents=(Resident(model="n", footprint_mib=1, aliases=("m",)),)),),
            True,
        ),
        ("m", (), (server(models=("n",)),), False),
        ("m", (), (server(models=None),), True),
        ("m", (), (), False),
    ],
    ids=["registered", "on disk", "an alias", "elsewhere", "a server that did not say", "nobody"],
)
def test_a_model_is_known_by_any_of_its_names(model, registered, servers, known):
    assert is_known(model=model, registered=registered, servers=servers) is known


@pytest.mark.parametrize(
    ("model", "spelled"),
    [
        ("QWEN3:8B", "qwen3:8b"),
        ("hf.co/ACME/tiny-gguf:latest", "hf.co/acme/Tiny-GGUF"),
        ("spare", "Spare"),
        ("copy", "COPY"),
        ("qwen3", None),
    ],
)
def test_a_model_may_be_called_in_another_case_as_ollama_takes_it(model, spelled):
    residents = (Resident(model="Spare", footprint_mib=1, aliases=("COPY",)),)
    servers = (server(models=("hf.co/acme/Tiny-GGUF",)), server(models=None, residents=residents))

    assert in_other_case(model=model, names=names_of(registered={"qwen3:8b"}, servers=servers)) == spelled
