"""What llama.cpp's server says about itself and its loads, read from recorded payloads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.core.engines import ENGINES
from providers.core.engines.base import FailureKind, HttpCall, HttpReply, ProbeFailure, StepDone, StepFailed, Trouble
from providers.core.engines.llamacpp import READER
from providers.core.engines.openai_listing import MODELS
from providers.core.types import AvailableModel, EngineKind, LoadedCopy, Observation

ENGINE = ENGINES[EngineKind.LLAMACPP]
ROUTER = {"role": "router", "max_instances": 0, "default_generation_settings": {"params": None, "n_ctx": 0}}


def ok(body):
    return HttpReply(status=200, body=body if isinstance(body, bytes) else json.dumps(body).encode())


def probe(*, props, models):
    return ENGINE.parse_probe(replies=(props, models), now=0.0)


def router(*models, props=ROUTER):
    """Ask a router that says of each model how it is."""
    data = [{"id": name, "status": {"value": state}} for name, state in models]
    return probe(props=ok(props), models=ok({"data": data}))


def test_a_server_with_one_model_has_it_in_memory_with_the_context_of_one_slot(recorded):
    seen = probe(props=ok(recorded("llamacpp_props.json")), models=ok(recorded("llamacpp_models.json")))

    assert seen == Observation(
        loaded=(LoadedCopy(model="gemma3:270m", footprint_mib=None, context_length=2048),),
        available=(AvailableModel(model="gemma3:270m", size_mib=236),),
        version="b0-unknown",
        slots=2,
    )


def test_an_older_list_does_not_tell_the_context_and_the_settings_do():
    models = {"data": [{"id": "m", "meta": {"size": 1048576}}]}

    seen = probe(props=ok({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1}), models=ok(models))

    assert [copy.context_length for copy in seen.loaded] == [4096]


def test_settings_that_are_kept_from_others_leave_the_list(recorded):
    seen = probe(props=HttpReply(status=404), models=ok(recorded("llamacpp_models.json")))

    assert (seen.version, seen.slots, [copy.model for copy in seen.loaded]) == (None, None, ["gemma3:270m"])


def test_a_router_tells_of_each_model_whether_it_is_there(recorded):
    seen = probe(props=ok(ROUTER), models=ok(recorded("llamacpp_router_loaded.json")))

    assert seen == Observation(
        loaded=(LoadedCopy(model="gemma3-270m", footprint_mib=None, context_length=1024),),
        available=(AvailableModel(model="gemma3-270m", size_mib=236), AvailableModel(model="other", size_mib=None)),
    )


def test_a_model_that_somebody_has_put_out_has_not_failed():
    """C21: a router says of each process that it ended that it failed, also where it was told to end it."""
    ended = {"value": "unloaded", "failed": True, "exit_code": 1}
    models = ok({"data": [{"id": "qwen3-8b", "status": ended}]})

    seen = probe(props=ok(ROUTER), models=models)

    assert (seen.loaded, [model.model for model in seen.available]) == ((), ["qwen3-8b"])


STATES = {
    "loaded": True,
    "sleeping": True,  # it wakes by itself for the next call
    "loading": False,
    "downloading": False,
    "unloaded": False,
    "a word of a later release": False,
}


@pytest.mark.parametrize("state", STATES)
def test_only_what_a_router_calls_loaded_is_there(state):
    seen = router(("m", state))

    assert [copy.model for copy in seen.loaded] == (["m"] if STATES[state] else [])
    assert [model.model for model in seen.available] == ["m"]


def test_a_copy_is_found_under_each_of_its_names():
    data = [{"id": "org/m-GGUF:Q4", "aliases": ["m", "org/m-GGUF:Q4"], "status": {"value": "loaded"}}]

    seen = probe(props=ok(ROUTER), models=ok({"data": data}))

    assert [(copy.model, copy.aliases) for copy in seen.loaded] == [("org/m-GGUF:Q4", ("m",))]
    assert [model.model for model in seen.available] == ["org/m-GGUF:Q4", "m"]


def test_a_router_that_would_put_models_out_by_itself_is_not_used():
    """It counts them, whatever they take, and an older one ends their calls."""
    two = (("a", "loaded"), ("b", "unloaded"))

    assert router(*two, props=ROUTER | {"max_instances": 1}) == ProbeFailure(
        kind=FailureKind.WRONG_ANSWER,
        detail="This router keeps at most 1 of its 2 models in memory, and puts others out by itself. "
        "Start it with --models-max 0: Kubemoot sees to the memory.",
    )
    assert isinstance(router(*two, props=ROUTER | {"max_instances": 2}), Observation)


def test_a_server_that_still_loads_its_model_says_so():
    loading = HttpReply(status=503, body=b'{"error":{"code":503,"message":"Loading model"}}')

    assert ENGINE.parse_probe(replies=(loading,), now=0.0) == ProbeFailure(
        kind=FailureKind.WRONG_ANSWER, detail="GET /props: the engine is still loading its model (HTTP 503)."
    )


def test_a_server_that_wants_a_key_is_told_apart_from_one_that_is_broken(recorded):
    """It tells anybody which models it has, and answers calls to nobody without the key."""
    failure = probe(props=HttpReply(status=401), models=ok(recorded("llamacpp_models.json")))

    assert failure.detail == (
        "GET /props wants a key (HTTP 401): put it into a Secret, and name that in the server's secretRef."
    )


def test_a_key_that_is_not_the_engines_own_is_named():
    failure = READER.read(call=MODELS, reply=HttpReply(status=401, secret="rack/token"))

    assert failure.detail == "GET /v1/models did not take the key rack/token (HTTP 401). Is it the engine's own?"


def test_a_key_that_is_not_there_is_named_and_says_nothing_of_the_engine():
    failure = READER.read(call=MODELS, reply=HttpReply(trouble=Trouble.NO_KEY, secret="rack/token"))

    assert failure == ProbeFailure(
        kind=FailureKind.WRONG_ANSWER,
        detail="GET /v1/models: the key rack/token, which secretRef names, is not there. "
        "Put it into the file of that name in the folder KUBEMOOT_SECRETS.",
    )


def test_nobody_who_answers_is_no_answer():
    failure = ENGINE.parse_probe(replies=(HttpReply(trouble=Trouble.REFUSED),), now=0.0)

    assert failure.kind is FailureKind.NO_ANSWER


WRONG = {
    "a list of something else": (ok({"models": []}), 'answered an object without "data" where'),
    "a model without an id": (ok({"data": [{}]}), "answered a model without an id where"),
    "a status that is a text": (ok({"data": [{"id": "m", "status": "x"}]}), 'a field "data[0].status" that is not an'),
    "aliases that are numbers": (
        ok({"data": [{"id": "m", "aliases": [1]}]}),
        'a field "data[0].aliases" that is not a list of texts',
    ),
    "a page": (ok(b"<html>secret</html>"), "answered something that is not JSON where"),
}


@pytest.mark.parametrize("what", WRONG)
def test_nonsense_is_a_failed_probe_that_says_what_was_expected(what):
    reply, sentence = WRONG[what]

    failure = probe(props=ok(ROUTER), models=reply)

    assert failure.kind is FailureKind.WRONG_ANSWER
    assert failure.detail.startswith("GET /v1/models ")
    assert sentence in failure.detail
    assert failure.detail.endswith("Is the endpoint really a llama.cpp server?")
    assert ENGINE.parse_residents(reply=reply, now=0.0) == failure


def test_nonsense_about_the_settings_is_told_of_the_settings(recorded):
    failure = probe(props=ok({"total_slots": "two"}), models=ok(recorded("llamacpp_models.json")))

    assert failure.detail.startswith('GET /props answered a field "total_slots" that is not a whole number')


JSON = st.sampled_from([None, True, -1, 0, 7, 1.5, float("nan"), "", "m", "loaded", [], [{}], ["m"], {}, {"value": 7}])
FIELD = st.sampled_from(["id", "aliases", "status", "meta"])
LISTS = st.fixed_dictionaries({"data": st.lists(st.dictionaries(FIELD, JSON), max_size=3) | JSON})


@given(st.binary(max_size=60) | LISTS.map(lambda value: json.dumps(value).encode()))
def test_no_reply_ever_raises(body):
    reply = ok(body)

    assert isinstance(probe(props=reply, models=reply), Observation | ProbeFailure)
    if not isinstance(ENGINE.parse_residents(reply=reply, now=0.0), ProbeFailure):
        assert isinstance(ENGINE.loader.parse_coming(reply=reply), frozenset)


def test_a_load_is_told_to_the_router_and_its_list_tells_how_it_goes(recorded):
    loader = ENGINE.loader

    assert loader.load_calls(model="other", context_length=4096, timeout_s=600) == (
        HttpCall(method="POST", path="/models/load", json={"model": "other"}, timeout_s=600),
    )
    assert loader.unload_calls(model="other", timeout_s=60) == (
        HttpCall(method="POST", path="/models/unload", json={"model": "other"}, timeout_s=60),
    )
    assert loader.parse_coming(reply=ok(recorded("llamacpp_router_loading.json"))) == {"other"}
    assert loader.parse_coming(reply=ok(recorded("llamacpp_router_loaded.json"))) == frozenset()


STEPS = {
    "begun": (ok({"success": True}), StepDone()),
    "begun by somebody else, or done already": (HttpReply(status=400), StepDone()),
    "a server with one model": (
        HttpReply(status=404),
        StepFailed(detail="This engine loads nothing when told to: start it with other."),
    ),
    "a server that is broken": (
        HttpReply(status=500),
        StepFailed(detail="POST /models/load for other answered HTTP 500. The engine's own log says why."),
    ),
    "a server that hangs": (
        HttpReply(trouble=Trouble.TIMED_OUT),
        StepFailed(
            detail="POST /models/load: no answer in 600 s. The engine accepts connections, but hangs.", timed_out=True
        ),
    ),
}


@pytest.mark.parametrize("how", STEPS)
def test_the_reply_to_a_load_says_whether_it_began(how):
    reply, outcome = STEPS[how]
    (call,) = ENGINE.loader.load_calls(model="other", context_length=None, timeout_s=600)

    assert ENGINE.loader.parse_step(call=call, reply=reply) == outcome
