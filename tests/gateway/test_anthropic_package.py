"""The newest anthropic package, unmodified, reads what the gateway writes. It brings an HTTP library of its own."""

import anthropic
import httpx2
import pytest
from pydantic import BaseModel

from providers.core.types import EngineKind
from tests.gateway.openai_wire import call_piece, chunk, ended, whole
from tests.gateway.reading import done, line, said
from tests.gateway.through import CALL, HELLO, MODEL, Through


def anthropic_client(through):
    return anthropic.Anthropic(base_url="http://gateway", api_key="k", http_client=through.client)


def test_anthropic_streams_and_answers():
    lines = said(thinking="hm") + said("Grö") + said("ße") + said(tool_calls=[CALL]) + done()
    client = anthropic_client(Through(lines, done("Größe"), http=httpx2))

    with client.messages.stream(model=MODEL, max_tokens=9, messages=HELLO) as stream:
        streamed = stream.get_final_message()
    whole = client.messages.create(model=MODEL, max_tokens=9, messages=HELLO)

    assert [each.type for each in streamed.content] == ["thinking", "text", "tool_use"]
    assert (streamed.content[1].text, streamed.content[2].input) == ("Größe", {"a": 1})
    assert (streamed.stop_reason, streamed.usage.input_tokens, streamed.usage.output_tokens) == ("tool_use", 12, 3)
    assert (whole.content[0].text, whole.stop_reason, whole.model) == ("Größe", "end_turn", MODEL)


def test_anthropic_on_a_server_of_openais_wire():
    events = chunk(reasoning_content="hm") + chunk("Grö") + chunk("ße")
    call = chunk(tool_calls=[call_piece('{"a"', id="x", name="sum")]) + chunk(tool_calls=[call_piece(":1}")])
    through = Through(
        events + call + ended("tool_calls"), whole("Größe", reason="length"), http=httpx2, engine=EngineKind.VLLM
    )
    client = anthropic_client(through)

    with client.messages.stream(model=MODEL, max_tokens=9, messages=HELLO) as stream:
        streamed = stream.get_final_message()
    result = {"type": "tool_result", "tool_use_id": streamed.content[2].id, "content": "1"}
    turns = [{"role": "assistant", "content": streamed.content}, {"role": "user", "content": [result]}]
    whole_one = client.messages.create(model=MODEL, max_tokens=9, messages=[*HELLO, *turns])

    assert [each.type for each in streamed.content] == ["thinking", "text", "tool_use"]
    assert (streamed.content[1].text, streamed.content[2].input) == ("Größe", {"a": 1})
    assert (streamed.stop_reason, streamed.usage.input_tokens, streamed.usage.output_tokens) == ("tool_use", 12, 3)
    assert (whole_one.content[0].text, whole_one.stop_reason, whole_one.model) == ("Größe", "max_tokens", MODEL)
    _, (path, asked) = through.asked
    assert (path, asked["messages"][1]["tool_calls"][0]["id"]) == ("/v1/chat/completions", streamed.content[2].id)
    assert asked["messages"][2] == {
        "role": "tool",
        "content": "1",
        "tool_call_id": streamed.content[2].id,
        "name": "sum",
    }


@pytest.mark.parametrize("answer", [chunk("Yes"), chunk("Yes") + b'data: {"error":{"message":"x"}}\n\n', b""])
def test_anthropic_raises_when_an_answer_of_openais_wire_fails_in_the_middle(answer):
    client = anthropic_client(Through(answer, http=httpx2, engine=EngineKind.VLLM))

    with pytest.raises(anthropic.APIError), client.messages.stream(model=MODEL, max_tokens=9, messages=HELLO) as stream:
        stream.get_final_message()


class Answer(BaseModel):
    """What an answer must look like."""

    answer: str


def test_anthropic_is_answered_by_the_schema_that_it_gives():
    """The package reads the answer as that; a schema that is not passed on leaves it with a text."""
    through = Through(done('{"answer": "yes"}'), http=httpx2)

    given = anthropic_client(through).messages.parse(model=MODEL, max_tokens=9, messages=HELLO, output_format=Answer)

    assert given.parsed_output == Answer(answer="yes")
    ((_, asked),) = through.asked
    assert asked["format"]["properties"] == {"answer": {"title": "Answer", "type": "string"}}


def test_anthropic_counts_tokens():
    counted = anthropic_client(Through(http=httpx2)).messages.count_tokens(model=MODEL, messages=HELLO)

    assert counted.input_tokens == 2


@pytest.mark.parametrize("answer", [said("Yes"), said("Yes") + line(error="x"), b""])
def test_anthropic_raises_when_an_answer_fails_in_the_middle(answer):
    client = anthropic_client(Through(answer, http=httpx2))

    with pytest.raises(anthropic.APIError), client.messages.stream(model=MODEL, max_tokens=9, messages=HELLO) as stream:
        stream.get_final_message()


@pytest.mark.parametrize(
    ("code", "raised"),
    [("gpu-busy", anthropic.InternalServerError), ("prompt-too-large", anthropic.BadRequestError)],
)
def test_anthropic_does_not_multiply_calls(code, raised):
    through = Through(fails=(code, {}), http=httpx2)

    with pytest.raises(raised):
        anthropic_client(through).messages.create(model=MODEL, max_tokens=9, messages=HELLO)

    assert len(through.asked) == 1
