"""The codec against the simulated engine, over a real socket and without any client of ours."""

import urllib.request

from providers.core.engines.base import HttpReply
from providers.core.engines.ollama import OllamaEngine
from providers.core.types import Observation
from tests.fakes.engine_server import read_state, switch_faults


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return HttpReply(status=answer.status, body=answer.read())


def test_the_simulated_engine_says_what_the_codec_reads(engine_url):
    engine = OllamaEngine()

    seen = engine.parse_probe(replies=[get(engine_url + call.path) for call in engine.probe_calls()], now=0.0)

    assert isinstance(seen, Observation)
    assert [model.model for model in seen.available] == [
        "qwen3:8b",
        "qwen3:14b",
        "qwen3:32b",
        "gpt-oss:20b",
        "chat-prod",
        "nomic-embed-text",
    ]


def test_a_simulated_engine_that_talks_nonsense_is_no_ollama(engine_url):
    engine = OllamaEngine()
    switch_faults(engine_url, nonsense=True)

    seen = engine.parse_probe(replies=[get(engine_url + call.path) for call in engine.probe_calls()], now=0.0)

    assert "not JSON" in seen.detail
    assert read_state(engine_url)["faults"] == {"nonsense": 1.0}
