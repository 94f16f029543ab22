"""What the gateway's tests share: a third engine whose context is set, models beside those of the stack, a line."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ollama
import openai

from tests.e2e.conftest import Stack
from tests.fakes.engine_server import engine_process, read_state

# The package imports its HTTP library with its first client: here, where no thread imports anything beside it.
openai.OpenAI(base_url="http://127.0.0.1", api_key="nobody").close()

MODEL, COLD, SET, EMBEDDER = "qwen3:8b", "gpt-oss:20b", "llama3.2:3b", "nomic-embed-text"
CONTEXT = 8192
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
ASK_TOOL: list[Any] = [{"role": "user", "content": "Please call the tool."}]
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
MORE = """
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: gpu-3}
spec: {type: ollama, endpoint: "%(url)s", scheduling: {memoryMiB: 32768, maxParallel: 2, contextLength: 8192}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: able, labels: {capability/reading: "true"}}
spec: {model: "qwen3:14b", vramMib: 10240}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: huge}
spec: {model: "huge:400b", vramMib: 400000}
"""


@contextmanager
def third_engine(stack: Stack) -> Iterator[str]:
    """Register an engine whose context an operator has set, and what else the tests name; take it all away again."""
    with engine_process(
        "--port", "0", "--memory-mib", "32768", "--speed", "20", "--models", f"{SET},{EMBEDDER},{COLD}", "--slots", "2"
    ) as (
        _,
        (url,),
    ):
        status, body = stack.rest.call("POST", "/apply", MORE % {"url": url})
        assert status == 200, body
        stack.rest.until(lambda picture: [s["ready"] for s in picture["servers"]] == [True] * 3)
        try:
            yield url
            is_idle(stack)
        finally:
            for place in ("modelservers/default/gpu-3", "models/default/able", "models/default/huge"):
                stack.rest.call("DELETE", f"/resources/{place}")


@contextmanager
def unspoilt_engines(stack: Stack) -> Iterator[str]:
    """Register the engines anew, and a third one; whatever is asked, none reloads a model or makes room by itself."""
    stack.register()
    with third_engine(stack) as url:
        yield url
        for place in (*stack.engines.values(), url):
            state = read_state(place)
            assert (state["selfEvictions"], state["reloads"]) == (0, 0)


def is_idle(stack: Stack, *, within_s: float = 20) -> None:
    """Wait until nobody holds or waits for anything."""
    stack.rest.until(lambda p: not p["waiters"] and not any(s["tickets"] for s in p["servers"]), within_s=within_s)


def openai_client(stack: Stack, key: str = "", **more: Any) -> openai.OpenAI:
    """Make OpenAI's own client; only its base URL says that there is a gateway."""
    return openai.OpenAI(base_url=f"{stack.rest.address}/v1", api_key=key or stack.rest.token, **more)


def ollama_client(stack: Stack, key: str = "", **more: Any) -> ollama.Client:
    """Make Ollama's own client."""
    return ollama.Client(
        host=stack.rest.address, headers={"Authorization": f"Bearer {key or stack.rest.token}"}, **more
    )


def requests_of(*urls: str) -> Counter[str]:
    """Add up what engines were asked."""
    total: Counter[str] = Counter()
    for url in urls:
        total.update(read_state(url)["requests"])
    return total


@contextmanager
def soon(after_s: float, do: Any) -> Iterator[None]:
    """Do something after a while, whatever the body is waiting for."""
    timer = threading.Timer(after_s, do)
    timer.start()
    try:
        yield
    finally:
        timer.join()
