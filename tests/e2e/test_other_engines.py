"""A router of llama.cpp, one of its servers with one model, and vLLM: unmodified clients of every dialect call them."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.e2e.conftest import Stack
from tests.e2e.gateway import ASK_TOOL, HELLO, TOOL, is_idle, ollama_client, openai_client
from tests.fakes.engine_server import engine_process, read_state, switch_faults

pytestmark = pytest.mark.e2e
SMALL, LARGE, ONE, SERVED = "router-small", "router-large", "single-8b", "org/Served-7B-Instruct"
KINDS = {
    "router": ("llamacpp", f"{SMALL}=6144,{LARGE}=10240"),
    "one": ("llamacpp-single", f"{ONE}=6144"),
    "served": ("vllm", f"{SERVED}=6144"),
}
KEY = "the-engines-own-key"
RESOURCES = """
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: router}
spec:
  type: llamacpp
  endpoint: "%(router)s"
  secretRef: {name: rack, key: token}
  scheduling: {memoryMiB: 16384, reserveMiB: 2048, maxParallel: 2}
---
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: one}
spec: {type: llamacpp, endpoint: "%(one)s", scheduling: {maxParallel: 2}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: served}
spec: {type: vllm, endpoint: "%(served)s", secretRef: {name: rack, key: token}, scheduling: {maxParallel: 2}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: router-small}
spec: {model: router-small, vramMib: 6144}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: router-large}
spec: {model: router-large, vramMib: 10240}
"""


@pytest.fixture(scope="module", autouse=True)
def engines(stack: Stack) -> Iterator[dict[str, str]]:
    """Register one engine of each kind beside what the stack has; take them away again."""
    stack.register()
    with ExitStack() as running:
        urls = {}
        for name, (kind, models) in KINDS.items():
            asked = ["--kind", kind, "--models", models, "--port", "0", "--memory-mib", "16384", "--slots", "2"]
            asked += ["--api-key", KEY] if name != "one" else []
            _, (urls[name],) = running.enter_context(engine_process(*asked, "--speed", "20"))
        put_key(stack, KEY)
        status, body = stack.rest.call("POST", "/apply", RESOURCES % urls)
        assert status == 200, body
        stack.rest.until(lambda picture: [s["ready"] for s in picture["servers"]] == [True] * 5)
        try:
            yield urls
            is_idle(stack)
        finally:
            for name in KINDS:
                stack.rest.call("DELETE", f"/resources/modelservers/default/{name}")
            for name in (SMALL, LARGE):
                stack.rest.call("DELETE", f"/resources/models/default/{name}")


def put_key(stack: Stack, key: str) -> None:
    """Put the key of an engine where its server's secretRef means it to be."""
    file = stack.data / "secrets" / "rack" / "token"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{key}\n")


def anthropic_client(stack: Stack) -> anthropic.Anthropic:
    """Make Anthropic's own client."""
    return anthropic.Anthropic(base_url=stack.rest.address, api_key=stack.rest.token)


def by_openai(stack: Stack, model: str, stream: bool) -> tuple[str, int]:
    """Ask by OpenAI's client; give the text and how many tokens it took."""
    asked: dict[str, Any] = {"model": model, "messages": HELLO, "max_tokens": 20}
    chat = openai_client(stack).chat.completions
    if not stream:
        answer = chat.create(**asked)
        return answer.choices[0].message.content or "", answer.usage.completion_tokens if answer.usage else -1
    pieces = list(chat.create(**asked, stream=True, stream_options={"include_usage": True}))
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    return text, next(piece.usage.completion_tokens for piece in pieces if piece.usage)


def by_ollama(stack: Stack, model: str, stream: bool) -> tuple[str, int]:
    """Ask by Ollama's client."""
    client, options = ollama_client(stack), {"num_predict": 20, "num_ctx": 32768}
    if not stream:
        answer = client.chat(model=model, messages=HELLO, options=options)
        return answer.message.content or "", answer.eval_count or 0
    pieces = list(client.chat(model=model, messages=HELLO, options=options, stream=True))
    return "".join(piece.message.content or "" for piece in pieces), pieces[-1].eval_count or 0


def by_anthropic(stack: Stack, model: str, stream: bool) -> tuple[str, int]:
    """Ask by Anthropic's client."""
    messages = anthropic_client(stack).messages
    if not stream:
        answer = messages.create(model=model, max_tokens=20, messages=HELLO)
        return answer.content[0].text, answer.usage.output_tokens  # type: ignore[union-attr]
    with messages.stream(model=model, max_tokens=20, messages=HELLO) as answering:
        text = "".join(answering.text_stream)
        return text, answering.get_final_message().usage.output_tokens


@pytest.mark.parametrize("model", [SMALL, ONE, SERVED])
def test_clients_of_every_dialect_get_the_same_answer(stack: Stack, model: str):
    answers = {
        (ask.__name__, stream): ask(stack, model, stream)
        for ask in (by_openai, by_ollama, by_anthropic)
        for stream in (False, True)
    }

    (text, tokens) = answers["by_openai", False]
    assert tokens == 20
    assert len(text.split()) >= 15
    assert set(answers.values()) == {(text, tokens)}


def test_a_router_loads_and_unloads_what_calls_need_and_nothing_by_itself(stack: Stack, engines: dict[str, str]):
    is_idle(stack)
    for model in (SMALL, LARGE, SMALL):
        assert by_ollama(stack, model, stream=True)[1] == 20

    state = read_state(engines["router"])
    loads = [event["model"] for event in state["events"] if event["event"] == "load_start"]
    assert loads[-2:] == [LARGE, SMALL]
    assert (state["selfEvictions"], state["loaded"]) == (0, [SMALL])
    raw = openai_client(stack).chat.completions.with_raw_response.create(model=SMALL, messages=HELLO, max_tokens=2)
    assert (raw.headers["x-kubemoot-server"], raw.headers["x-kubemoot-action"]) == ("router", "use")


def test_tools_are_called_through_every_dialect(stack: Stack):
    function = TOOL["function"]
    chat = openai_client(stack).chat.completions.create(model=SERVED, messages=ASK_TOOL, tools=[TOOL])
    told = ollama_client(stack).chat(model=SERVED, messages=ASK_TOOL, tools=[TOOL])
    answer = anthropic_client(stack).messages.create(
        model=SERVED,
        max_tokens=50,
        messages=ASK_TOOL,
        tools=[{"name": function["name"], "input_schema": function["parameters"]}],
    )

    (call,) = chat.choices[0].message.tool_calls or ()
    assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Lisbon"}')  # type: ignore[union-attr]
    (named,) = told.message.tool_calls or ()
    assert (named.function.name, named.function.arguments) == ("weather", {"city": "Lisbon"})
    (use,) = [block for block in answer.content if block.type == "tool_use"]
    assert (use.name, use.input) == ("weather", {"city": "Lisbon"})


def test_a_stream_that_is_cut_is_an_error_in_every_dialect(stack: Stack, engines: dict[str, str]):
    """C58: a client took what it had for the whole answer."""
    asked = {
        by_openai: (openai.APIError,),
        by_ollama: (ollama.ResponseError,),
        by_anthropic: (anthropic.APIError,),
    }
    for ask, errors in asked.items():
        switch_faults(engines["served"], cut=True)
        try:
            with pytest.raises(errors):
                ask(stack, SERVED, True)
        finally:
            switch_faults(engines["served"], cut=False)


def test_clients_of_ollama_find_the_models_and_may_ask_what_they_are(stack: Stack):
    client = ollama_client(stack)

    listed = {model.model for model in client.list().models}
    assert {f"{SMALL}:latest", f"{ONE}:latest", f"{SERVED}:latest"} <= listed
    assert "completion" in (client.show(SERVED).capabilities or ())
    assert client.generate(model=SERVED, prompt="").done_reason == "load"


def test_the_page_and_the_api_say_what_each_server_is(stack: Stack):
    for name, kind in (("router", "llamacpp"), ("one", "llamacpp"), ("served", "vllm")):
        _, document = stack.rest.call("GET", f"/resources/modelservers/default/{name}")
        assert (document["spec"]["type"], document["status"]["phase"]) == (kind, "Ready")


def test_a_key_that_its_engine_does_not_take_is_told_to_the_operator_and_seen_by_nobody(stack: Stack):
    def served(picture: dict[str, Any]) -> dict[str, Any]:
        return next(server for server in picture["servers"] if server["name"] == "served")

    put_key(stack, "another-key")
    try:
        stack.rest.until(lambda picture: not served(picture)["ready"])
        assert "did not take the key rack/token (HTTP 401)" in served(stack.rest.cluster())["detail"]
    finally:
        put_key(stack, KEY)
    stack.rest.until(lambda picture: served(picture)["ready"])
    assert by_openai(stack, SERVED, False)[1] == 20

    seen = [stack.rest.call("GET", path)[1] for path in ("/cluster", "/resources/modelservers/default/served")]
    assert KEY not in json.dumps(seen)
    assert KEY not in "\n".join(stack.up.lines)
