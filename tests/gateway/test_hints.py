"""What a client says to load or unload a model is told from calls and answered without one."""

import ollama
import pytest

from kubemoot_web.gateway.hints import hint_answer, is_unload
from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.resident import Resident
from tests.gateway.reading import asked


def server(kind, *models, resident=None):
    """Make a server of a kind that has these models on its disk, and one in memory."""
    residents = (Resident(model=resident, footprint_mib=1),) if resident else ()
    seen = ServerSeen(models=models or None, residents=residents)
    return ServerRecord(config=ServerConfig(name=kind, kind=kind, endpoint="http://x"), seen=seen)


def hinted(operation, *servers, dialect="ollama", **fields):
    """Answer a call of qwen3:14b at once, or not."""
    return hint_answer(asked(dialect, operation, **fields), models=["qwen3:14b"], servers=servers)


@pytest.mark.parametrize("keep_alive", [0, 0.0, "0", "0s", "0m", "0ms", "-0", "0.0s"], ids=repr)
@pytest.mark.parametrize("fields", [{}, {"prompt": ""}, {"prompt": None}, {"prompt": "", "stream": False}], ids=str)
def test_no_prompt_and_no_time_to_stay_mean_unload(fields, keep_alive):
    assert is_unload(asked("ollama", "generate", **fields, keep_alive=keep_alive))


@pytest.mark.parametrize("messages", [[], None])
def test_no_messages_and_no_time_to_stay_mean_unload(messages):
    assert is_unload(asked("ollama", "chat", messages=messages, keep_alive=0))


@pytest.mark.parametrize(
    ("dialect", "operation", "fields"),
    [
        ("ollama", "generate", {"prompt": "hello", "keep_alive": 0}),
        ("ollama", "chat", {"messages": [{"role": "user", "content": "hello"}], "keep_alive": 0}),
        ("ollama", "generate", {}),
        ("ollama", "generate", {"prompt": "", "keep_alive": None}),
        ("ollama", "generate", {"keep_alive": "5m"}),
        ("ollama", "generate", {"keep_alive": -1}),
        ("ollama", "generate", {"keep_alive": "10"}),
        ("ollama", "generate", {"keep_alive": "0.5s"}),
        ("ollama", "generate", {"keep_alive": "zero"}),
        ("ollama", "generate", {"keep_alive": False}),
        ("ollama", "embed", {"keep_alive": 0}),
        ("openai", "completion", {"keep_alive": 0}),
    ],
    ids=str,
)
def test_nothing_else_means_unload(dialect, operation, fields):
    """Without a prompt alone a client loads a model, and with one it wants an answer whatever comes after."""
    assert not is_unload(asked(dialect, operation, **fields))


@pytest.mark.parametrize(
    ("operation", "fields", "answer"),
    [
        ("generate", {}, {"response": "", "done": True, "done_reason": "load"}),
        ("generate", {"prompt": "", "keep_alive": "5m"}, {"response": "", "done": True, "done_reason": "load"}),
        ("generate", {"keep_alive": 0}, {"response": "", "done": True, "done_reason": "unload"}),
        (
            "chat",
            {"messages": []},
            {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"},
        ),
        (
            "chat",
            {"keep_alive": 0},
            {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "unload"},
        ),
        ("embed", {}, {"embeddings": []}),
        ("embed", {"input": []}, {"embeddings": []}),
    ],
    ids=str,
)
def test_a_wish_is_answered_at_once_where_an_engine_without_a_word_for_it_has_the_model(operation, fields, answer):
    told = hinted(operation, server("vllm", "qwen3:14b"), **fields)

    assert told == {"model": "agent/default/analyst", **answer}


def test_the_old_path_of_embeddings_has_an_answer_of_its_own():
    assert hinted("embed_old", server("openai", "qwen3:14b")) == {"embedding": []}


@pytest.mark.parametrize(
    ("servers", "is_answered"),
    [
        ((server("vllm", "qwen3:14b"),), True),
        ((server("llamacpp", resident="qwen3:14b"),), True),
        ((server("ollama", "qwen3:14b"), server("openai", "qwen3:14b")), True),
        ((server("ollama", "qwen3:14b"),), False),
        ((server("ollama", "qwen3:14b"), server("vllm", "other")), False),
        ((server("vllm"),), False),
        ((), False),
    ],
    ids=["on disk", "in memory", "on both", "Ollama's alone", "another's", "nobody knows", "no server"],
)
def test_a_wish_to_load_goes_to_ollama_where_ollama_alone_has_the_model(servers, is_answered):
    assert (hinted("generate", *servers) is not None) is is_answered


@pytest.mark.parametrize(
    ("dialect", "operation", "fields"),
    [
        ("ollama", "generate", {"prompt": "hello"}),
        ("ollama", "chat", {"messages": [{"role": "user", "content": "hello"}]}),
        ("ollama", "embed", {"input": "hello", "keep_alive": 0}),
        ("openai", "chat", {"messages": []}),
        ("anthropic", "messages", {"messages": []}),
    ],
    ids=str,
)
def test_a_call_that_asks_something_is_no_wish(dialect, operation, fields):
    assert hinted(operation, server("vllm", "qwen3:14b"), dialect=dialect, **fields) is None


@pytest.mark.parametrize(("keep_alive", "reason"), [(0, "unload"), (-1, "load")])
def test_the_ollama_package_reads_the_answer(keep_alive, reason):
    has_it = server("vllm", "qwen3:14b")
    generated = ollama.GenerateResponse(**hinted("generate", has_it, keep_alive=keep_alive))
    chatted = ollama.ChatResponse(**hinted("chat", has_it, keep_alive=keep_alive))

    assert (generated.response, generated.done, generated.done_reason) == ("", True, reason)
    assert (chatted.message.content, chatted.done, chatted.done_reason) == ("", True, reason)
