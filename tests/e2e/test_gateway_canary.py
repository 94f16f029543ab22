"""Nothing of a prompt or an answer is kept or told anywhere (A-54)."""

import json
import secrets
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from kubemoot_web.settings.sockets import socket_path
from tests.e2e.conftest import Stack
from tests.e2e.gateway import EMBEDDER, MODEL, SET, is_idle, third_engine
from tests.fakes.engine_server import switch_faults

pytestmark = pytest.mark.e2e

CANARY = f"canary{secrets.token_hex(8)}"
OPENAI, OLLAMA, ANTHROPIC = "/v1/chat/completions", "/api/chat", "/v1/messages"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "enum": [f"{CANARY}-reply"]}}}
FUNCTION = {"name": "weather", "description": f"{CANARY}-tool", "parameters": SCHEMA}
PROMPT = {"role": "user", "content": f"Call the tool, {CANARY}-prompt."}


@pytest.fixture(scope="module", autouse=True)
def third(stack: Stack) -> Iterator[str]:
    """Register the engines anew, and a third one."""
    stack.register()
    with third_engine(stack) as url:
        yield url


def send(stack: Stack, path: str, body: bytes, **headers: str) -> tuple[int, str]:
    """Send a body as it is; give status and text of the answer."""
    more = {"Authorization": f"Bearer {stack.rest.token}", "Content-Type": "application/json", **headers}
    request = urllib.request.Request(stack.rest.address + path, data=body, headers=more)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def conversation(path: str, model: str, *, stream: bool) -> bytes:
    """Write a call of the canary's words alone, whose answer is so too: a tool call with the only value allowed."""
    arguments: Any = {"city": f"{CANARY}-argument"}
    system, tools = [{"role": "system", "content": f"{CANARY}-system"}], [{"type": "function", "function": FUNCTION}]
    if path == ANTHROPIC:
        past = [
            {"role": "user", "content": f"{CANARY}-past"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": arguments}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": f"{CANARY}-result"}]},
        ]
        tool = {"name": "weather", "description": f"{CANARY}-tool", "input_schema": SCHEMA}
        asked = {"system": f"{CANARY}-system", "messages": [*past, PROMPT], "tools": [tool], "max_tokens": 9}
    else:
        called = json.dumps(arguments) if path == OPENAI else arguments
        call = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": called}}
        result = {"role": "tool", "tool_call_id": "t1", "content": f"{CANARY}-result"}
        past = [*system, {"role": "assistant", "content": "", "tool_calls": [call]}, result]
        asked = {"messages": [*past, PROMPT], "tools": tools, "user": f"{CANARY}-user"}
    return json.dumps({"model": model, "stream": stream, **asked}).encode()


def files(stack: Stack) -> Iterator[tuple[str, str]]:
    """List what lies in the installation's folder: database, journal of the ledger, whatever else there is."""
    for path in stack.data.rglob("*"):
        if path.is_file():
            yield f"file {path.name}", path.read_bytes().decode("latin-1")
    with sqlite3.connect(stack.data / "kubemoot.sqlite3") as database:
        yield "database", "\n".join(database.iterdump())
    database.close()


def keys(stack: Stack) -> Iterator[tuple[str, str]]:
    """List every key of the ledger's server with its value."""
    with Redis(unix_socket_path=str(socket_path(stack.data))) as client:
        for key in client.scan_iter(count=1000):
            name = key.decode("latin-1")
            read: dict[bytes, Any] = {
                b"string": lambda key=key: client.get(key),
                b"hash": lambda key=key: client.hgetall(key),
                b"list": lambda key=key: client.lrange(key, 0, -1),
                b"set": lambda key=key: client.smembers(key),
                b"zset": lambda key=key: client.zrange(key, 0, -1, withscores=True),
                b"stream": lambda key=key: client.xrange(key),
            }
            kind = client.type(key)
            yield f"key {name}", name + str(read[kind]() if kind in read else "")


def answers(stack: Stack) -> Iterator[tuple[str, str]]:
    """List what the REST API says of calls, and the metrics."""
    _, listed = stack.rest.call("GET", "/calls?limit=500")
    for path in ("/calls?limit=500", "/attempts?limit=500", "/attempts/summary", "/cluster"):
        yield f"GET {path}", json.dumps(stack.rest.call("GET", path))
    for call in listed["calls"]:
        yield f"call {call['id']}", json.dumps(stack.rest.call("GET", f"/calls/{call['id']}"))
    request = urllib.request.Request(
        f"{stack.rest.address}/metrics", headers={"Authorization": f"Bearer {stack.rest.token}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        metrics = answer.read().decode()
    assert "kubemoot_attempts_total" in metrics, "nothing was looked through"
    yield "metrics", metrics


def test_what_is_said_is_kept_nowhere_and_told_to_nobody_else(stack: Stack, third: str):
    calls = [
        (path, model, stream) for path in (OPENAI, OLLAMA, ANTHROPIC) for model in (MODEL, SET) for stream in (0, 1)
    ]
    for path, model, stream in calls:
        status, text = send(stack, path, conversation(path, model, stream=bool(stream)), **{"X-Request-Id": "r"})
        assert (status, f"{CANARY}-reply" in text.replace('\\"', "")) == (200, True), text
    for path, body in [
        ("/v1/embeddings", {"model": EMBEDDER, "input": CANARY}),
        ("/v1/completions", {"model": MODEL, "prompt": CANARY, "max_tokens": 3}),
        ("/api/generate", {"model": SET, "prompt": CANARY, "system": CANARY, "stream": False}),
        ("/api/embed", {"model": EMBEDDER, "input": [CANARY]}),
    ]:
        assert send(stack, path, json.dumps(body).encode())[0] == 200

    errors = []
    switch_faults(third, fail_calls=1)
    errors.append(send(stack, OPENAI, conversation(OPENAI, SET, stream=False)))
    assert send(stack, OPENAI, conversation(OPENAI, SET, stream=False))[0] == 200  # three failures in a row: a rest
    switch_faults(third, cut=2)
    long = json.dumps({"model": SET, "messages": [{"role": "user", "content": CANARY}], "stream": True}).encode()
    errors += [send(stack, path, long) for path in (OPENAI, OLLAMA)]
    switch_faults(third, cut=0)
    messages = [{"role": "user", "content": CANARY}]
    broken_call = {"id": "t", "type": "function", "function": {"name": "w", "arguments": CANARY}}
    for path in (OPENAI, OLLAMA, ANTHROPIC):
        for body in (
            f'{{"model": "{SET}", "messages": "{CANARY}'.encode(),
            CANARY.encode(),
            json.dumps({"model": SET, "messages": messages, "stream": CANARY}).encode(),
            json.dumps({"model": SET, "messages": [{"role": "user", "content": CANARY * 9000}]}).encode(),
            json.dumps({"model": EMBEDDER, "messages": messages, "max_tokens": 5}).encode(),
            json.dumps(
                {"model": SET, "max_tokens": 5, "messages": [{"role": "assistant", "tool_calls": [broken_call]}]}
            ).encode(),
        ):
            errors.append(send(stack, path, body))
        for header in ("X-Kubemoot-Purpose", "X-Kubemoot-Priority", "X-Kubemoot-Wait"):
            errors.append(send(stack, path, conversation(path, SET, stream=False), **{header: CANARY}))
    assert [text for _, text in errors if CANARY in text] == []
    assert sum("error" in text for _, text in errors) >= len(errors) - 3  # some engines take an odd tool call

    is_idle(stack)
    deadline = time.monotonic() + 15
    while len(stack.rest.call("GET", "/calls?limit=500")[1]["calls"]) < len(calls):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    seen = [*files(stack), *keys(stack), *answers(stack), ("output", "\n".join(stack.up.lines))]
    places = {where.split()[0] for where, text in seen if SET in text}
    assert places >= {"database", "file", "key", "GET", "call"}  # what is kept would be found there
    assert [where for where, text in seen if CANARY in text] == []
