"""What a client gets for what engines do: broken streams, busy servers, errors of its own, odd headers."""

import asyncio
import base64
import gzip
import json
import logging
from dataclasses import replace

import pytest

from providers.clients.relay import RelayClient
from providers.core.engines.base import Trouble
from tests.fakes.raw_server import answering, raw_server
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import (
    ANTHROPIC,
    DONE,
    EVENT,
    LAST_LINE,
    LINE,
    OLLAMA,
    OPENAI,
    WAY_NAMES,
    WAYS,
    WHOLE,
    Client,
    Gate,
    answer_of,
    until,
    world_of,
)

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)
THE_ANSWER = (
    b'data: {"choices":[{"index":0,"delta":{"content":"The answer"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":" is"}}]}\n\n',
)
YES = base64.b64decode(
    "eyJtb2RlbCI6Im0iLCJtZXNzYWdlIjp7InJvbGUiOiJhc3Npc3RhbnQiLCJjb250ZW50IjoiWWVzIn0sImRvbmUiOmZhbHNlfQo="
)


def text_of(body: bytes) -> str:
    """Join the text of an answer, whichever stream it is."""
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line.strip() and b"[DONE]" not in line]
    documents = [json.loads(line) for line in lines]
    deltas = [choice["delta"].get("content", "") for each in documents for choice in each.get("choices", ())]
    return "".join(deltas) + "".join(each["message"]["content"] for each in documents if "message" in each)


async def test_a_stream_that_breaks_after_output_ends_with_an_error_and_is_not_begun_again():
    """C57: the text came twice."""
    gate = Gate(await world_of(servers=2), Answer(pieces=(*THE_ANSWER, Trouble.BROKEN)), Answer(pieces=(EVENT, DONE)))

    client = await gate.serve(Client())

    *events, last = client.body.strip().split(b"\n\n")
    assert text_of(b"\n".join(events)) == "The answer is"
    assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == "stream-truncated"
    assert (client.is_whole, DONE in client.body, len(gate.asked)) == (True, False, 1)
    assert await gate.ends() == {"c1": "truncated"}


async def test_a_stream_that_breaks_before_output_is_given_whole_by_another_server():
    """C57, its other half."""
    gate = Gate(await world_of(servers=2), Answer(pieces=(Trouble.BROKEN,)), Answer(pieces=(EVENT, DONE)))

    client = await gate.serve(Client())

    assert client.body == EVENT + DONE
    assert len(set(gate.asked)) == 2
    assert await gate.ends() == {"c1": "error", "c1.2": "ok"}


@pytest.mark.parametrize(
    ("pieces", "end", "has_error", "tokens"),
    [
        ((YES,), "truncated", True, None),
        ((YES, b'{"error":"the runner failed"}\n'), "error", True, None),
        ((YES, LAST_LINE), "ok", False, 1),
    ],
    ids=["no final record", "error object", "good"],
)
async def test_an_answer_without_its_final_mark_is_no_success(pieces, end, has_error, tokens):
    """C58: it was booked as one, and an error's text was shown as an answer."""
    world = await world_of()
    gate = Gate(world, Answer(pieces=pieces))

    client = await gate.serve(Client(OLLAMA))

    *lines, last = client.body.splitlines()
    assert lines[0] + b"\n" == YES
    assert ("error" in json.loads(last)) is has_error
    assert await gate.ends() == {"c1": end}
    assert (await world.record("c1")).completion_tokens == tokens
    assert gate.tickets == []


@pytest.mark.parametrize("path", [OPENAI, OLLAMA, ANTHROPIC])
async def test_half_an_object_is_an_error_with_a_status_of_its_own(path):
    gate = Gate(await world_of(servers=2), Answer(pieces=(WHOLE[:20], Trouble.BROKEN)))

    client = await gate.serve(Client(path, stream=False))

    assert client.status == (500 if path == ANTHROPIC else 502)
    assert "error" in json.loads(client.body)
    assert dict(client.headers)["x-should-retry"] == "false"
    assert (gate.tickets, len(gate.asked)) == ([], 1)


@ways
async def test_what_a_busy_engine_said_last_of_when_to_come_again_reaches_the_client(path, stream):
    busy = [Answer(status=503, headers=(("retry-after", seconds),)) for seconds in ("4", "6", "17")]
    gate = Gate(await world_of(), *busy)

    client = await gate.serve(Client(path, stream=stream))

    assert (client.status == 200, dict(client.headers)["retry-after"]) == (False, "17")


@ways
async def test_a_back_off_holds_no_place(path, stream):
    """C36: an idle server refused other work for as long as one call slept before its retry."""
    first, second = Client(path, stream=stream), Client(path, stream=stream)
    world = await world_of()
    gate = Gate(world, Answer(status=503, headers=(("retry-after", "4"),)), answer_of(second), answer_of(first))
    slept, wake = [], asyncio.Event()

    async def pause(seconds: float) -> None:
        slept.append((seconds, gate.tickets))
        await wake.wait()

    gate.doors = replace(gate.doors, pause=pause)  # the same doors, with a pause that a test ends
    running = gate.start(first)
    await until(lambda: bool(slept))
    assert slept == [(4.0, [])]

    await gate.serve(second, wait_s=0)
    assert second.status == 200
    wake.set()
    await running

    assert (first.status, gate.tickets) == (200, [])
    assert await gate.ends() == {"c1": "error", "c2": "ok", "c1.2": "ok"}


@pytest.mark.parametrize("status", [400, 501])
@pytest.mark.parametrize("path", [OPENAI, OLLAMA, ANTHROPIC])
async def test_errors_of_the_caller_shut_no_server_out(path, status):
    """C25: after three bad requests good ones failed, for the only server had been put to rest."""
    refused = [Answer(status=status, pieces=(b'{"error":"no such thing"}',)) for _ in range(3)]
    good = [answer_of(Client(path, stream=False)) for _ in range(2)]
    gate = Gate(await world_of(), *refused, good[0], Answer(status=503), good[1])

    served = [await gate.serve(Client(path, stream=False)) for _ in range(5)]

    assert [client.status for client in served] == [status, status, status, 200, 200]
    assert gate.pauses == [0.5]
    assert all(b"no such thing" in client.body for client in served[:3])
    ends = await gate.ends()
    assert [ends[call] for call in ("c1", "c2", "c3", "c4", "c5", "c5.2")] == [*["refused"] * 3, "ok", "error", "ok"]


async def test_packed_answers_and_headers_of_one_connection_are_not_passed_on():
    """C62: the length and the encoding of the packed body went on with the unpacked one."""
    body = json.dumps({"model": "qwen3:14b", "choices": [], "filler": "x" * 4950}).encode()
    packed = gzip.compress(body)
    head = (
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nConnection: keep-alive\r\n"
        "Keep-Alive: timeout=5\r\nContent-Type: application/json\r\nX-Request-Id: r-1\r\n\r\n"
    )
    relay = RelayClient()
    async with raw_server(answering((head % len(packed)).encode() + packed)) as raw:
        gate = Gate(await world_of(endpoint=raw.url), relay=relay)
        client = await gate.serve(Client(stream=False))
    await relay.close()

    assert client.body == body
    names = [name for name, _ in client.headers]
    told = dict(client.headers)
    assert [told["content-length"], told["x-request-id"], told["content-type"]] == [
        str(len(body)),
        "r-1",
        "application/json",
    ]
    assert len(names) == len(set(names))
    assert not {"transfer-encoding", "connection", "keep-alive", "content-encoding"} & set(names)


async def test_habit_10_an_engine_that_closes_its_idle_connections_costs_no_call():
    """A pooled connection that the engine has closed meanwhile is not used again."""
    relay = RelayClient()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(WHOLE)
    async with raw_server(answering(head + WHOLE)) as raw:  # it says keep-alive, and closes after each answer
        gate = Gate(await world_of(endpoint=raw.url), relay=relay)
        served = [await gate.serve(Client(stream=False)) for _ in range(5)]
    await relay.close()

    assert [client.status for client in served] == [200] * 5
    assert (raw.connections, await gate.ends()) == (5, {f"c{number}": "ok" for number in range(1, 6)})


@pytest.mark.parametrize(
    "script",
    [
        (Answer(status=500, pieces=(b"secret",)),),
        (Answer(status=400, pieces=(b"odd",)),),
        (Answer(pieces=(b"secret", Trouble.BROKEN)),),
        (Trouble.TIMED_OUT,),
        (Answer(status=301),),
    ],
    ids=["500", "400", "cut", "silent", "elsewhere"],
)
@ways
async def test_no_log_line_repeats_what_was_said(path, stream, script, caplog):
    caplog.set_level(logging.DEBUG)
    gate = Gate(await world_of(), *(replace(step) if isinstance(step, Answer) else step for step in script))

    client = await gate.serve(
        Client(path, stream=stream, system="secret", messages=[{"role": "user", "content": "secret"}])
    )

    assert client.is_whole
    assert "secret" not in caplog.text


@pytest.mark.parametrize("header", ["authorization", "cookie", "x-api-key", "host", "x-kubemoot-thread"])
async def test_an_engine_never_hears_who_called(header):
    gate = Gate(await world_of(), Answer(pieces=(EVENT, DONE)))

    await gate.serve(Client(headers={header: "mine", "traceparent": "00-1-2-03"}))

    ((_, request),) = gate.relay.asked
    assert request.headers == (("content-type", "application/json"), ("traceparent", "00-1-2-03"))


async def test_lines_pass_through_unchanged():
    lines = (LINE, LINE, LAST_LINE)
    gate = Gate(await world_of(), Answer(pieces=lines))

    client = await gate.serve(Client(OLLAMA))

    assert [message["body"] for message in client.heard[1:-1]] == list(lines)
