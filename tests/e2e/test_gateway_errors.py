"""Errors of the gateway as the libraries of three dialects raise them, each after one request alone."""

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.e2e.callers import held
from tests.e2e.conftest import BODY_LIMIT, Stack
from tests.e2e.gateway import EMBEDDER, HELLO, MODEL, SET, ollama_client, openai_client, requests_of, third_engine
from tests.fakes.engine_server import switch_faults
from tests.fakes.running import make_token

pytestmark = pytest.mark.e2e

FIRST = "0"
"""The library's own count of what it sent before."""


@pytest.fixture(scope="module", autouse=True)
def third(stack: Stack) -> Iterator[str]:
    """Register the engines anew, and a third one."""
    stack.register()
    with third_engine(stack) as url:
        yield url


@pytest.fixture(scope="module")
def narrow(stack: Stack) -> str:
    """Make a key that may use one model alone, one call at a time."""
    more = ("--models", MODEL)
    return make_token(*more, data=stack.data, name="narrow", scopes="read,call")


def say(stack: Stack, dialect: str, *, key: str = "", text: str = "hello", **more: Any) -> Exception:
    """Make a call that must fail, in one of the dialects; give what the library raises."""
    messages: list[Any] = [{"role": "user", "content": text}]
    asked = {"model": MODEL, "messages": messages, **more}
    headers = {"X-Kubemoot-Wait": "0"}
    key = key or stack.rest.token
    calls: dict[str, Callable[[], object]] = {
        "openai": lambda: openai_client(stack, key, default_headers=headers).chat.completions.create(**asked),
        "openai stream": lambda: openai_client(stack, key, default_headers=headers).chat.completions.create(
            **asked, stream=True
        ),
        "ollama": lambda: ollama.Client(
            host=stack.rest.address, headers={"Authorization": f"Bearer {key}", **headers}
        ).chat(**asked),
        "ollama stream": lambda: list(
            ollama.Client(host=stack.rest.address, headers={"Authorization": f"Bearer {key}", **headers}).chat(
                **asked, stream=True
            )
        ),
        "anthropic": lambda: anthropic.Anthropic(
            base_url=stack.rest.address, api_key=key, default_headers=headers
        ).messages.create(max_tokens=5, **asked),
    }
    with pytest.raises((openai.APIStatusError, ollama.ResponseError, anthropic.APIStatusError)) as caught:
        calls[dialect]()
    return caught.value


def told(error: Any) -> tuple[str, int]:
    """Give the class and the status; a library that repeats itself must not have done so."""
    if not isinstance(error, ollama.ResponseError):
        assert error.request.headers["x-stainless-retry-count"] == FIRST
        assert error.response.headers["x-should-retry"] == "false"
    return type(error).__name__, error.status_code


DIALECTS = ["openai", "openai stream", "ollama", "ollama stream", "anthropic"]
KEY, MAY_NOT, UNKNOWN, LARGE_BODY, TOO_LARGE, TOO_LONG, BUSY = range(7)
EXPECTED: dict[str, list[tuple[str, int]]] = {
    "openai": [
        ("AuthenticationError", 401),
        ("PermissionDeniedError", 403),
        ("NotFoundError", 404),
        ("APIStatusError", 413),
        ("UnprocessableEntityError", 422),
        ("UnprocessableEntityError", 422),
        ("InternalServerError", 503),
    ],
    "ollama": [("ResponseError", status) for status in (401, 403, 404, 413, 422, 422, 503)],
    "anthropic": [
        ("AuthenticationError", 401),
        ("PermissionDeniedError", 403),
        ("NotFoundError", 404),
        ("ContentTooLargeError", 413),
        ("BadRequestError", 400),
        ("BadRequestError", 400),
        ("OverloadedError", 529),
    ],
}
CODES = ["unauthorized", "forbidden", "model-not-found", "too-large-body", "model-too-large", "prompt-too-large"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_refusal_is_raised_as_what_it_is(stack: Stack, narrow: str, dialect: str):
    errors = [
        say(stack, dialect, key="kmt_nobody"),
        say(stack, dialect, key=narrow, model="qwen3:14b"),
        say(stack, dialect, model="unheard-of"),
        say(stack, dialect, text="x" * BODY_LIMIT),
        say(stack, dialect, model="huge:400b"),
        say(stack, dialect, model=SET, text="word " * 20_000),
    ]

    assert [told(error) for error in errors] == EXPECTED[dialect.split()[0]][:BUSY]
    if dialect.startswith("openai"):
        assert [error.code for error in errors] == CODES
    assert all(isinstance(error, ollama.ResponseError) is dialect.startswith("ollama") for error in errors)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_capacity_is_an_overload_with_a_time_to_come_again(stack: Stack, third: str, dialect: str):
    """A third copy cannot be: the model is on one disk alone, and both of its slots are taken."""
    with held(stack, model=SET), held(stack, model=SET):
        error = say(stack, dialect, model=SET)

    assert told(error) == EXPECTED[dialect.split()[0]][BUSY]
    if not isinstance(error, ollama.ResponseError):
        assert int(error.response.headers["retry-after"]) >= 1
        assert error.response.headers["x-kubemoot-reason"] == "gpu-busy"


@pytest.mark.parametrize("dialect", ["openai", "ollama", "anthropic"])
def test_an_engine_that_fails_is_not_the_callers_fault(stack: Stack, third: str, dialect: str):
    switch_faults(third, fail_calls=1)

    error = say(stack, dialect, model=SET)
    ollama_client(stack).chat(model=SET, messages=HELLO)  # too many failures in a row would put it to rest

    assert told(error)[1] == {"openai": 502, "ollama": 502, "anthropic": 500}[dialect]
    assert "gpu-3" in str(error)


def stream_anthropic(stack: Stack) -> None:
    """Stream to the end."""
    client = anthropic.Anthropic(base_url=stack.rest.address, api_key=stack.rest.token)
    with client.messages.stream(model=SET, max_tokens=48, messages=HELLO) as stream:
        list(stream.text_stream)


STREAMS: list[tuple[type[Exception], Callable[[Stack], object]]] = [
    (openai.APIError, lambda s: list(openai_client(s).chat.completions.create(model=SET, messages=HELLO, stream=True))),
    (ollama.ResponseError, lambda s: list(ollama_client(s).chat(model=SET, messages=HELLO, stream=True))),
    (anthropic.APIStatusError, stream_anthropic),
]


@pytest.mark.parametrize("fault", ["cut", "no_end", "error_inside"])
@pytest.mark.parametrize(("error", "stream"), STREAMS, ids=["openai", "ollama", "anthropic"])
def test_a_stream_that_dies_raises_what_it_is_and_is_asked_for_once(stack: Stack, third: str, error, stream, fault):
    """A short answer without a word would be taken for a whole one."""
    before = requests_of(third)["POST /api/chat"]
    switch_faults(third, **{fault: 5})

    with pytest.raises(error):
        stream(stack)

    switch_faults(third, **{fault: 0})
    assert requests_of(third)["POST /api/chat"] - before == 1
    stream(stack)  # well again: and three failures in a row would put the engine to rest


def test_a_request_that_the_engine_refuses_keeps_the_engines_words(stack: Stack):
    with pytest.raises(openai.BadRequestError, match="does not support generate"):
        openai_client(stack).chat.completions.create(model=EMBEDDER, messages=HELLO)
    with pytest.raises(ollama.ResponseError, match="does not support generate"):
        ollama_client(stack).chat(model=EMBEDDER, messages=HELLO)


def test_nobody_changes_the_models_of_a_server_through_the_gateway(stack: Stack):
    client = ollama_client(stack)

    for change in (client.pull, client.delete, client.push):
        with pytest.raises(ollama.ResponseError) as caught:
            change(MODEL)
        assert caught.value.status_code == 403
