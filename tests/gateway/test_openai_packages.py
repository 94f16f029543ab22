"""The newest openai and langchain-openai packages, unmodified, read what the gateway writes."""

import json

import openai
import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import SecretStr

from tests.gateway.reading import done, event, line, said
from tests.gateway.through import CALL, HELLO, MODEL, TOOL, Through

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "qwen3:14b"}
FINAL = b"data: [DONE]\n\n"


def chunks(*deltas):
    events = [event(**CHUNK, choices=[{"index": 0, "delta": each, "finish_reason": None}]) for each in deltas]
    last = event(**CHUNK, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    return b"".join((*events, last))


USAGE = event(**CHUNK, choices=[], usage={"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15})
WORDS = chunks({"role": "assistant", "content": "Grö"}, {"content": "ße"})


def openai_client(through):
    return openai.OpenAI(base_url="http://gateway/v1", api_key="k", http_client=through.client)


def chat_openai(through, **more):
    return ChatOpenAI(
        model=MODEL, base_url="http://gateway/v1", api_key=SecretStr("k"), http_client=through.client, **more
    )


@pytest.mark.parametrize(
    ("answer", "is_context_set"), [(said("Grö") + said("ße") + done(), True), (WORDS + USAGE + FINAL, False)]
)
def test_openai_streams(answer, is_context_set):
    through = Through(answer, is_context_set=is_context_set)

    got = list(openai_client(through).chat.completions.create(model=MODEL, messages=HELLO, stream=True))

    assert [each.choices[0].delta.content for each in got] == ["Grö", "ße", None]
    assert (got[0].choices[0].delta.role, got[-1].choices[0].finish_reason) == ("assistant", "stop")
    assert {each.model for each in got} == {MODEL}


@pytest.mark.parametrize(("answer", "is_context_set"), [(said("a") + done(), True), (WORDS + USAGE + FINAL, False)])
def test_openai_gets_the_usage_it_asked_for(answer, is_context_set):
    create = openai_client(Through(answer, is_context_set=is_context_set)).chat.completions.create

    got = list(create(model=MODEL, messages=HELLO, stream=True, stream_options={"include_usage": True}))

    assert (got[-1].choices, got[-1].usage.total_tokens) == ([], 15)


@pytest.mark.parametrize(
    ("answer", "is_context_set"),
    [
        (said("Yes"), True),
        (said("Yes") + line(error="The runner failed"), True),
        (WORDS, False),
        (WORDS + b'data: {"choi', False),
        (WORDS + event(error={"message": "The runner failed"}) + FINAL, False),
    ],
)
def test_openai_raises_when_an_answer_fails_in_the_middle(answer, is_context_set):
    """C58: without the error it would return the shorter answer."""
    stream = openai_client(Through(answer, is_context_set=is_context_set)).chat.completions.create(
        model=MODEL, messages=HELLO, stream=True
    )

    with pytest.raises(openai.APIError):
        list(stream)


def test_openai_calls_tools_and_tells_what_they_said():
    through = Through(done(tool_calls=[CALL]), said(tool_calls=[CALL, CALL]) + done(), done("3"))
    client = openai_client(through)

    first = client.chat.completions.create(model=MODEL, messages=HELLO, tools=[TOOL]).choices[0]
    with client.chat.completions.stream(model=MODEL, messages=HELLO, tools=[TOOL]) as stream:
        second = stream.get_final_completion().choices[0]
    result = {"role": "tool", "tool_call_id": first.message.tool_calls[0].id, "content": "3"}
    last = client.chat.completions.create(model=MODEL, messages=[*HELLO, first.message.to_dict(), result])

    assert (first.finish_reason, first.message.tool_calls[0].function.arguments) == ("tool_calls", '{"a":1}')
    assert [each.id for each in second.message.tool_calls] == ["call_abc_0", "call_abc_1"]
    assert through.asked[2][1]["messages"][-1]["tool_name"] == "sum"
    assert last.choices[0].message.content == "3"


def test_openai_completes_and_embeds():
    last = {key: value for key, value in json.loads(done()).items() if key != "message"}
    vectors = line(model="m", embeddings=[[0.5, -1.0]], prompt_eval_count=2)
    client = openai_client(Through(line(**{**last, "response": "Once"}), vectors, vectors))

    text = client.completions.create(model=MODEL, prompt="x")
    packed = client.embeddings.create(model=MODEL, input="x")
    plain = client.embeddings.create(model=MODEL, input=["x"], encoding_format="float")

    assert (text.choices[0].text, text.usage.total_tokens) == ("Once", 15)
    assert (packed.data[0].embedding, plain.data[0].embedding) == ([0.5, -1.0], [0.5, -1.0])


@pytest.mark.parametrize(
    ("fails", "raised", "attempts"),
    [
        (("gpu-busy", {}), openai.InternalServerError, 1),
        (("gpu-busy", {"retry_after_s": 7}), openai.InternalServerError, 1),
        (("model-too-large", {}), openai.UnprocessableEntityError, 1),
        (("unauthorized", {}), openai.AuthenticationError, 1),
        (("engine-error", {}), openai.InternalServerError, 1),
        (("model-not-found", {}), openai.NotFoundError, 1),
    ],
)
def test_openai_reads_the_reason_and_does_not_multiply_calls(fails, raised, attempts):
    """C65: its own retries would come on top of ours."""
    through = Through(fails=fails)

    with pytest.raises(raised) as failed:
        openai_client(through).chat.completions.create(model=MODEL, messages=HELLO)

    assert (failed.value.code, len(through.asked)) == (fails[0], attempts)


def test_langchain_on_the_openai_dialect():
    through = Through(said("Grö") + said("ße") + done(), done("Größe", tool_calls=[CALL]), said("a") + done())
    chat = chat_openai(through)

    streamed = [each.content for each in chat.stream([HumanMessage("hello")])]
    whole = chat.bind_tools([TOOL]).invoke([HumanMessage("hello")])
    metered = chat_openai(through, stream_usage=True).stream([HumanMessage("hello")])

    assert "".join(streamed) == "Größe"
    assert (whole.tool_calls[0]["args"], whole.usage_metadata["total_tokens"]) == ({"a": 1}, 15)
    assert [each.usage_metadata["total_tokens"] for each in metered if each.usage_metadata] == [15]


def test_langchain_embeds_on_the_openai_dialect():
    through = Through(line(model="m", embeddings=[[0.5, -1.0]], prompt_eval_count=2))
    embeddings = OpenAIEmbeddings(
        model=MODEL,
        base_url="http://gateway/v1",
        api_key=SecretStr("k"),
        http_client=through.client,
        check_embedding_ctx_length=False,
    )

    assert embeddings.embed_query("x") == [0.5, -1.0]
