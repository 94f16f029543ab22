"""What the servers that speak OpenAI's dialect alone have in common: how they chat, and what may go wrong with them."""

import asyncio
import json

import httpx
import pytest

from tests.fakes.engine_server import eventually, simulated_engine

CHAT = "/v1/chat/completions"
ASK = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "two?"}], "max_tokens": 2}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"properties": {"days": {"type": "integer"}}}},
}
WISH = ASK | {"messages": [{"role": "user", "content": "Call the tool."}], "tools": [TOOL]}
KINDS = ("llamacpp", "llamacpp-single", "vllm")


@pytest.fixture(params=KINDS)
async def server(request):
    async with simulated_engine(kind=request.param, models="qwen3:8b", slots=2) as server:
        await server.engine.load(model=server.engine.config.models["qwen3:8b"])
        yield server


async def streamed(http, body: dict, path: str = CHAT) -> list:
    """Give the choices of a stream's events, without what all of them say; the last is the mark of its end."""
    answer = await http.post(path, json=body | {"stream": True})
    assert answer.headers["content-type"] == "text/event-stream"
    data = [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]
    return [json.loads(text)["choices"] if text.startswith("{") else text for text in data]


def deltas(events: list) -> list[tuple]:
    """Give what each event of a chat adds, and why it ended."""
    *chunks, mark = events
    assert mark == "[DONE]"
    return [(choice["delta"], choice["finish_reason"]) for (choice,) in chunks]


def ends(server) -> list[tuple[str, int]]:
    """List how calls ended, and after how many tokens."""
    return [(e["how"], e["tokens"]) for e in server.engine.journal.events if e["event"] == "call_end"]


async def test_a_chat_opens_with_the_role_alone_and_then_says_only_what_is_new(http):
    (opening, reason), *rest = deltas(await streamed(http, ASK))

    assert (opening["role"], opening["content"] or None, reason) == ("assistant", None, None)
    assert rest == [({"content": "The "}, None), ({"content": "cluster "}, None), ({}, "stop")]


async def test_a_text_is_written_on(http):
    events = await streamed(http, {"model": "qwen3:8b", "prompt": "two?", "max_tokens": 2}, "/v1/completions")

    assert events == [
        [{"index": 0, "text": "The ", "finish_reason": None}],
        [{"index": 0, "text": "cluster ", "finish_reason": None}],
        [{"index": 0, "text": "", "finish_reason": "stop"}],
        "[DONE]",
    ]


@pytest.mark.parametrize(
    ("wish", "thinks"),
    [
        ({}, False),
        ({"chat_template_kwargs": {}}, False),
        ({"chat_template_kwargs": {"enable_thinking": True}}, True),
        ({"chat_template_kwargs": {"enable_thinking": False}}, False),
        ({"reasoning_effort": "low"}, True),
        ({"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}}, False),
        ({"chat_template_kwargs": None}, False),
    ],
)
async def test_thoughts_come_apart_from_the_answer_where_the_template_is_told_so(http, wish, thinks):
    _, *streamed_deltas = deltas(await streamed(http, ASK | wish))
    message = (await http.post(CHAT, json=ASK | wish)).json()["choices"][0]["message"]

    thoughts = "The cluster is " if thinks else ""
    assert "".join(delta.get("reasoning_content", "") for delta, _ in streamed_deltas) == thoughts
    assert "".join(delta.get("content", "") for delta, _ in streamed_deltas) == "The cluster "
    assert not any({"reasoning_content", "content"} <= set(delta) for delta, _ in streamed_deltas)
    assert message == {
        "role": "assistant",
        "content": "The cluster ",
        **({"reasoning_content": thoughts} if thinks else {}),
    }


@pytest.mark.parametrize("arguments", [["enable_thinking"], "yes", {"enable_thinking": "yes"}, {"enable_thinking": 1}])
async def test_arguments_that_no_template_takes_are_refused(http, arguments):
    answer = await http.post(CHAT, json=ASK | {"chat_template_kwargs": arguments})

    assert answer.status_code == 400
    assert "chat_template_kwargs" in answer.json()["error"]["message"]


async def test_a_tool_is_called_without_a_text(http):
    _, (called, _), last = deltas(await streamed(http, WISH))
    message = (await http.post(CHAT, json=WISH)).json()["choices"][0]["message"]

    (call,) = message["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("weather", {"days": 3})
    assert message["content"] is None
    assert (called, last) == ({"tool_calls": [call]}, ({}, "tool_calls"))


async def test_a_body_that_is_no_object_is_refused(http):
    answer = await http.post(CHAT, content=b"nonsense")

    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "the body is not a JSON object")


@pytest.mark.parametrize("path", ["/health", "/v1/models", CHAT])
async def test_a_server_that_fails_fails_on_every_path_in_its_own_form(http, server, path):
    server.engine.faults.switch({"error500": True})

    answer = await http.request("POST" if path == CHAT else "GET", path, json=ASK)

    assert (answer.status_code, answer.json()["error"]["message"]) == (500, "simulated failure")
    assert answer.json()["error"]["code"] == 500


@pytest.mark.parametrize("path", ["/health", "/v1/models", CHAT])
async def test_a_server_may_talk_nonsense_on_every_path(http, server, path):
    server.engine.faults.switch({"nonsense": True})

    answer = await http.request("POST" if path == CHAT else "GET", path, json=ASK)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html")


async def test_a_server_that_hangs_answers_when_it_does_no_more(http, server):
    server.engine.faults.switch({"hang": True})
    asked = [asyncio.create_task(http.get("/v1/models")), asyncio.create_task(http.post(CHAT, json=ASK))]
    await eventually(lambda: server.engine.journal.requests[f"POST {CHAT}"] == 1)
    done, _ = await asyncio.wait(asked, timeout=0.05)

    server.engine.faults.switch({"hang": False})

    assert done == set()
    assert [(await task).status_code for task in asked] == [200, 200]


async def test_a_slow_server_takes_its_time(http, server):
    server.engine.faults.switch({"slow": 0.2})
    begun = server.engine.now()

    await http.get("/health")

    assert server.engine.now() - begun >= 0.2


async def test_a_port_that_is_closed_opens_again_with_the_same_memory(http, server):
    assert (await http.post("/_sim/faults", json={"refuse": 0.2})).status_code == 200
    await eventually(lambda: not server.is_listening)
    with pytest.raises(httpx.TransportError):
        await http.get("/health")
    await eventually(lambda: server.is_listening)

    assert (await http.post(CHAT, json=ASK)).status_code == 200


@pytest.mark.parametrize(
    ("fault", "status", "retry_after"),
    [({"busy503": True}, 503, None), ({"retry503": 7}, 503, "7"), ({"fail_calls": 1}, 500, None)],
)
async def test_calls_may_be_refused_while_the_lists_stay_well(http, server, fault, status, retry_after):
    server.engine.faults.switch(fault)

    listed = await http.get("/v1/models")
    called = await http.post(CHAT, json=ASK)

    assert listed.status_code == 200
    assert (called.status_code, called.headers.get("retry-after")) == (status, retry_after)
    assert called.json()["error"]["code"] == status


async def test_a_stream_that_is_cut_breaks_its_connection(http, server):
    server.engine.faults.switch({"cut": 1})

    with pytest.raises(httpx.RemoteProtocolError):
        await streamed(http, ASK)

    await eventually(lambda: ends(server) == [("failed", 1)])


async def test_an_answer_that_is_not_streamed_is_cut_in_its_middle(http, server):
    server.engine.faults.switch({"cut": True})

    with pytest.raises(httpx.RemoteProtocolError):
        await http.post(CHAT, json=ASK)


async def test_a_stream_may_end_without_its_mark(http, server):
    server.engine.faults.switch({"no_end": 1})

    (opening,), (said,) = await streamed(http, ASK)

    assert (opening["delta"]["role"], said["delta"]) == ("assistant", {"content": "The "})


async def test_an_error_may_come_in_the_midst_of_a_stream(http, server):
    server.engine.faults.switch({"error_inside": 1})

    answer = await http.post(CHAT, json=ASK | {"stream": True})

    last = json.loads(answer.text.strip().split("\n\n")[-1].removeprefix("data: "))
    assert (set(last), last["error"]["code"], last["error"]["message"]) == ({"error"}, 500, "simulated failure")


@pytest.mark.parametrize(("works_on", "ended"), [(False, ("aborted", 0)), (True, ("done", 2))])
async def test_a_client_that_leaves_ends_its_call_unless_the_engine_works_on(http, server, works_on, ended):
    server.engine.faults.switch({"wedge": True, "works_on": works_on})
    with pytest.raises(httpx.ReadTimeout):
        await http.post(CHAT, json=ASK, timeout=httpx.Timeout(10, read=0.1))
    await eventually(lambda: works_on or not any(server.engine.journal.in_flight.values()))

    server.engine.faults.switch({"wedge": False})

    await eventually(lambda: ends(server) == [ended])
