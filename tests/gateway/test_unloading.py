"""What a client says to unload a model is told from calls and answered without one."""

import ollama
import pytest

from kubemoot_web.gateway.unloading import is_unload, unload_answer
from tests.gateway.reading import asked


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


def test_the_ollama_package_reads_the_answer():
    generated = ollama.GenerateResponse(**unload_answer(asked("ollama", "generate", keep_alive=0)))
    chatted = ollama.ChatResponse(**unload_answer(asked("ollama", "chat", keep_alive=0)))

    assert (generated.response, generated.done, generated.done_reason) == ("", True, "unload")
    assert (chatted.message.content, chatted.done, chatted.done_reason) == ("", True, "unload")
