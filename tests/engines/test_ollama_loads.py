import pytest

from providers.core.engines.base import HttpCall, HttpReply, StepDone, StepFailed, Trouble, TryAnotherWay
from providers.core.engines.ollama import OllamaEngine, call_options
from providers.simulator.wire import keep_alive_seconds

ENGINE = OllamaEngine()
LOADED = b'{"model":"qwen3:14b","response":"","done":true,"done_reason":"load"}'


def load(reply):
    call = ENGINE.load_calls(model="qwen3:14b", context_length=None, timeout_s=600)[0]
    return ENGINE.parse_step(call=call, reply=reply)


def test_a_load_is_an_empty_generation_or_else_an_empty_embedding_kept_for_ever():
    assert ENGINE.load_calls(model="qwen3:14b", context_length=8192, timeout_s=600) == (
        HttpCall(
            method="POST",
            path="/api/generate",
            json={"model": "qwen3:14b", "keep_alive": -1, "options": {"num_ctx": 8192}, "stream": False},
            timeout_s=600,
        ),
        HttpCall(
            method="POST",
            path="/api/embed",
            json={"model": "qwen3:14b", "keep_alive": -1, "options": {"num_ctx": 8192}, "input": ""},
            timeout_s=600,
        ),
    )


def test_an_unload_says_keep_alive_zero_and_nothing_that_could_load():
    assert [call.json for call in ENGINE.unload_calls(model="qwen3:14b", timeout_s=60)] == [
        {"model": "qwen3:14b", "keep_alive": 0, "stream": False},
        {"model": "qwen3:14b", "keep_alive": 0, "input": ""},
    ]


@pytest.mark.parametrize("context", [None, 0])
def test_without_a_known_context_no_context_is_sent(context):
    """C10: sending 0 makes the engine load again."""
    calls = ENGINE.load_calls(model="m", context_length=context, timeout_s=1)

    assert all("options" not in call.json for call in calls)


def test_a_call_to_a_resident_copy_always_carries_the_context_already_allocated():
    """C10: two agents with different needs on one copy of 32768 reload it at every call otherwise."""
    needed = [30000, None, 30000, 2000]

    assert {call_options(context_length=32768)["num_ctx"] for _ in needed} == {32768}


@pytest.mark.parametrize("context", [None, 8192])
def test_every_keep_alive_that_is_sent_is_a_number_and_one_that_engines_accept(context):
    """C12: the text "-1" is refused with HTTP 400, and the model then leaves after the engine's own five minutes."""
    loads = ENGINE.load_calls(model="m", context_length=context, timeout_s=1)
    unloads = ENGINE.unload_calls(model="m", timeout_s=1)

    sent = [call.json["keep_alive"] for call in (*loads, *unloads)]

    assert [(value, type(value)) for value in sent] == [(-1, int), (-1, int), (0, int), (0, int)]
    assert [keep_alive_seconds(value) for value in sent] == [-1, -1, 0, 0]


OUTCOMES = {
    "done": (HttpReply(status=200, body=LOADED), StepDone()),
    "done, as a stream": (HttpReply(status=200, body=b'{"done":false}\n' + LOADED + b"\n"), StepDone()),
    "done, without a word": (HttpReply(status=200), StepDone()),
    "an error within a stream": (
        HttpReply(status=200, body=b'{"done":false}\n{"error":"secret"}\n'),
        StepFailed(
            detail="POST /api/generate answered an error where an object that says done was expected. "
            "Is the endpoint really an Ollama server?"
        ),
    ),
    "cannot generate": (
        HttpReply(status=400, body=b'{"error":"secret"}'),
        TryAnotherWay(
            detail="POST /api/generate for qwen3:14b answered HTTP 400. The engine's own log says why.",
        ),
    ),
    "not on the disk": (
        HttpReply(status=404, body=b'{"error":"secret"}'),
        StepFailed(
            detail="POST /api/generate: the engine does not have qwen3:14b on its disk. Pull it there first.",
        ),
    ),
    "queue full": (
        HttpReply(status=503, body=b'{"error":"secret"}'),
        StepFailed(detail="POST /api/generate: the engine's own queue is full (HTTP 503). It is busy, not broken."),
    ),
    "load broke": (
        HttpReply(status=500, body=b'{"error":"secret"}'),
        StepFailed(detail="POST /api/generate for qwen3:14b answered HTTP 500. The engine's own log says why."),
    ),
    "hangs": (
        HttpReply(trouble=Trouble.TIMED_OUT),
        StepFailed(
            detail="POST /api/generate: no answer in 600 s. The engine accepts connections, but hangs.", timed_out=True
        ),
    ),
    "gone": (
        HttpReply(trouble=Trouble.BROKEN),
        StepFailed(
            detail="POST /api/generate: the connection broke before the answer was whole. "
            "The engine may just be restarting."
        ),
    ),
    "an error behind a 200": (
        HttpReply(status=200, body=b'{"error":"secret"}'),
        StepFailed(
            detail="POST /api/generate answered an error where an object that says done was expected. "
            "Is the endpoint really an Ollama server?"
        ),
    ),
    "a page": (
        HttpReply(status=200, body=b"<html>secret</html>"),
        StepFailed(
            detail="POST /api/generate answered something that is not JSON "
            "where an object that says done was expected. "
            "Is the endpoint really an Ollama server?"
        ),
    ),
}


@pytest.mark.parametrize("what", OUTCOMES)
def test_replies_to_a_load(what):
    """C14: a full queue is no outage. Bodies are never quoted."""
    reply, outcome = OUTCOMES[what]

    assert load(reply) == outcome
