"""What breaks clients behind gateways, each habit once, by its number in the list of wire facts, 4.5; the
tenth, about pooled connections, is among the tests of relayed answers.

And 4.2's heartbeats: a client with a time-out of one second outlives any wait.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import openai
import pytest

from tests.e2e.conftest import BODY_LIMIT, Stack
from tests.e2e.gateway import (
    ASK_TOOL,
    COLD,
    CONTEXT,
    EMBEDDER,
    HELLO,
    MODEL,
    SET,
    TOOL,
    is_idle,
    ollama_client,
    openai_client,
    requests_of,
    soon,
    unspoilt_engines,
)
from tests.fakes.engine_server import read_state, switch_faults
from tests.fakes.running import make_token

pytestmark = pytest.mark.e2e

WAIT_S = 2.2
IMPATIENT: dict[str, Any] = {"timeout": 1.0}


@pytest.fixture(scope="module", autouse=True)
def third(stack: Stack) -> Iterator[str]:
    """Give the third engine's address."""
    with unspoilt_engines(stack) as url:
        yield url


def test_impatient_clients_outlive_a_load(stack: Stack, third: str):
    """4.2: comments for SSE, pings for Anthropic, blanks for lines and for one object. One request each.

    A patient one beside them, which says so by itself, has its head when all is known that stands there.
    """
    once = openai_client(stack, **IMPATIENT, max_retries=0)
    native = ollama_client(stack, **IMPATIENT)
    other = anthropic.Anthropic(base_url=stack.rest.address, api_key=stack.rest.token, **IMPATIENT, max_retries=0)
    asked: dict[str, Any] = {"model": COLD, "messages": HELLO}
    calls: list[Callable[[], object]] = [
        lambda: once.chat.completions.create(**asked).choices[0].message.content,
        lambda: len(list(once.chat.completions.create(**asked, stream=True))),
        lambda: native.chat(**asked).message.content,
        lambda: len(list(native.chat(**asked, stream=True))),
        lambda: other.messages.create(**asked, max_tokens=5).content,
        lambda: len(list(other.messages.create(**asked, max_tokens=5, stream=True))),
        lambda: openai_client(stack).chat.completions.with_raw_response.create(**asked).headers["x-kubemoot-server"],
    ]
    switch_faults(third, load_hang=True)
    begun = time.monotonic()

    with (
        soon(WAIT_S, lambda: switch_faults(third, load_hang=False)),
        ThreadPoolExecutor(len(calls)) as pool,
    ):
        answers = list(pool.map(lambda call: call(), calls))

    assert all(answers)
    assert time.monotonic() - begun > WAIT_S
    assert read_state(third)["tokens"][COLD] == 5 * 48 + 2 * 5
    is_idle(stack)


def test_habit_1_the_model_that_was_asked_for_is_the_model_that_is_told(stack: Stack):
    for name in (MODEL, "agent/default/analyst", "agent/analyst"):
        assert openai_client(stack).chat.completions.create(model=name, messages=HELLO).model == name
        chunks = openai_client(stack).chat.completions.create(model=name, messages=HELLO, stream=True)
        assert {chunk.model for chunk in chunks} == {name}
        assert {part.model for part in ollama_client(stack).chat(model=name, messages=HELLO, stream=True)} == {name}


def test_habit_2_a_name_without_a_tag_is_the_latest(stack: Stack):
    client = ollama_client(stack)

    for name in (EMBEDDER, f"{EMBEDDER}:latest", f"registry.ollama.ai/library/{EMBEDDER}"):
        assert client.embed(model=name, input="a").embeddings
        assert openai_client(stack).embeddings.create(model=name, input="a").model == name
        assert openai_client(stack).models.retrieve(name).id == EMBEDDER
    assert openai_client(stack).models.retrieve("agent/analyst").id == "agent/default/analyst"


def test_habit_3_neither_a_keep_alive_nor_a_context_undoes_a_plan(stack: Stack, third: str):
    client = ollama_client(stack)
    for options, keep_alive in [({"num_ctx": 2048}, 0), ({"num_ctx": 65536}, 1800), ({"num_ctx": 0}, "5m"), ({}, None)]:
        client.chat(model=SET, messages=HELLO, options=options, keep_alive=keep_alive)
    openai_client(stack).chat.completions.create(model=SET, messages=HELLO)

    state = read_state(third)

    assert SET in state["loaded"]
    asked = {event["numCtx"] for event in state["events"] if event["event"] == "call_start" and event["model"] == SET}
    assert asked == {CONTEXT}
    for model in (SET, MODEL):  # also where no operator has set a context, and the first copy is yet to be loaded
        with pytest.raises(openai.UnprocessableEntityError) as caught:
            openai_client(stack).chat.completions.create(
                model=model, messages=[{"role": "user", "content": "word " * 4 * CONTEXT}]
            )
        assert caught.value.code == "prompt-too-large"


def test_habit_4_where_a_context_is_set_the_engines_own_wire_carries_it(stack: Stack, third: str):
    before = requests_of(third)

    openai_client(stack).chat.completions.create(model=SET, messages=HELLO)

    more = requests_of(third) - before
    assert (more["POST /api/chat"], more["POST /v1/chat/completions"]) == (1, 0)


@pytest.mark.parametrize("model", [MODEL, SET])
def test_habit_5_arguments_of_tools_are_a_text_in_one_dialect_and_an_object_in_the_other(stack: Stack, model: str):
    chunks = openai_client(stack).chat.completions.create(model=model, messages=ASK_TOOL, tools=[TOOL], stream=True)
    calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert (calls[0].index, bool(calls[0].id), calls[0].function.name) == (0, True, "weather")
    assert "".join(call.function.arguments or "" for call in calls).replace(" ", "") == '{"city":"Lisbon"}'

    parts = ollama_client(stack).chat(model=model, messages=ASK_TOOL, tools=[TOOL], stream=True)
    whole = [call for part in parts for call in part.message.tool_calls or ()]
    assert [call.function.arguments for call in whole] == [{"city": "Lisbon"}]


@pytest.mark.parametrize("model", [MODEL, SET])
def test_habit_6_thoughts_go_through(stack: Stack, model: str):
    native = ollama_client(stack).chat(model=model, messages=HELLO, think=True)
    thoughts = native.message.thinking
    assert thoughts

    answer = openai_client(stack).chat.completions.create(model=model, messages=HELLO, reasoning_effort="low")
    assert answer.choices[0].message.model_extra["reasoning"] == thoughts
    chunks = openai_client(stack).chat.completions.create(
        model=model, messages=HELLO, reasoning_effort="low", stream=True
    )
    assert "".join((chunk.choices[0].delta.model_extra or {}).get("reasoning") or "" for chunk in chunks) == thoughts


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat", "/v1/messages"])
@pytest.mark.parametrize("stream", [True, False])
async def test_habit_7_a_client_that_leaves_ends_the_work_within_a_second(stack: Stack, third: str, path, stream):
    """One runs at the engine, which writes nothing for it; both slots are taken, so that the third waits in line."""
    host = stack.rest.address.removeprefix("http://")
    body = json.dumps({"model": SET, "max_tokens": 9, "stream": stream, "messages": HELLO})
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {stack.rest.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    ollama_client(stack).chat(model=SET, messages=HELLO)  # it is loaded
    switch_faults(third, wedge=True)
    writers = []

    def picture() -> tuple[int, int, int]:
        now = stack.rest.cluster()
        tickets = sum(len(server["tickets"]) for server in now["servers"])
        return tickets, len(now["waiters"]), sum(read_state(third)["inFlight"].values())

    async def becomes(expected: tuple[int, int, int], within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while (seen := await asyncio.to_thread(picture)) != expected:
            assert time.monotonic() < deadline, seen
            await asyncio.sleep(0.02)

    for count in range(1, 4):
        _, writer = await asyncio.open_connection(*host.split(":"))
        writer.write((head + body).encode())
        writers.append(writer)
        await becomes((min(count, 2), max(count - 2, 0), min(count, 2)), 10)

    for writer, left in zip(reversed(writers), [(2, 0, 2), (1, 0, 1), (0, 0, 0)], strict=True):
        writer.close()
        await becomes(left, 1)
    switch_faults(third, wedge=False)


def test_habit_8_a_call_is_sent_again_elsewhere_before_its_first_byte_and_told_with_both_attempts(stack: Stack):
    raw = openai_client(stack).chat.completions.with_raw_response.create(model=MODEL, messages=HELLO)
    first = raw.headers["x-kubemoot-server"]
    switch_faults(stack.engines[first], fail_calls=1)

    raw = openai_client(stack).chat.completions.with_raw_response.create(model=MODEL, messages=HELLO)
    assert raw.parse().usage.completion_tokens == 48

    def told() -> list[tuple[str, str]]:
        _, call = stack.rest.call("GET", f"/calls/{raw.headers['x-kubemoot-call']}")
        return [(attempt["server"], attempt["outcome"]) for attempt in call.get("attempts", ())]

    other = next(name for name in stack.engines if name != first)
    deadline = time.monotonic() + 10
    while (attempts := told()) != [(first, "error"), (other, "ok")]:
        assert time.monotonic() < deadline, attempts
        time.sleep(0.2)


def test_habit_9_large_bodies_pass_and_larger_ones_are_refused_in_the_callers_dialect(stack: Stack):
    below = [{"role": "user", "content": "hi", "images": ["A" * (BODY_LIMIT - 4096)]}]
    assert ollama_client(stack).chat(model=MODEL, messages=below).message.content
    over = "A" * BODY_LIMIT
    for error in (
        lambda: ollama_client(stack).generate(model=MODEL, prompt=over),
        lambda: openai_client(stack).embeddings.create(model=EMBEDDER, input=over),
    ):
        with pytest.raises(Exception, match="KUBEMOOT_GATEWAY_MAX_BODY_BYTES") as caught:
            error()
        assert caught.value.status_code == 413


def test_habit_11_a_key_sees_what_it_may_use_with_its_state(stack: Stack):
    ollama_client(stack).chat(model=MODEL, messages=HELLO)
    key = make_token("--models", MODEL, data=stack.data, name="narrow", scopes="read,call")

    listed = [m.model_dump() for m in openai_client(stack, key).models.list() if not m.id.startswith("agent/")]

    assert [(model["id"], model["object"], model["status"]) for model in listed] == [(MODEL, "model", "loaded")]
    assert [model.model for model in ollama_client(stack, key).list().models if "/" not in model.model] == [MODEL]


def test_habit_12_lists_are_answered_without_asking_an_engine(stack: Stack, third: str):
    urls, times = (*stack.engines.values(), third), 60
    native, client = ollama_client(stack), openai_client(stack)
    before = requests_of(*urls)

    for _ in range(times):
        native.list()
        native.ps()
        client.models.list()

    more = requests_of(*urls) - before
    assert max(more["GET /api/tags"], more["GET /api/ps"], more["GET /v1/models"]) < times
