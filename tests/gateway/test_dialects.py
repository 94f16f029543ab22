"""What paths mean, and how an answer is labelled."""

import json

import pytest

from kubemoot_web.gateway.dialects import PATHS, ROUTES, Dialect, answer_headers, beat, dialect_of, tidied


def test_every_path_has_one_meaning_and_back():
    assert {PATHS[route] for route in ROUTES.values()} == set(ROUTES)


@pytest.mark.parametrize(
    ("path", "headers", "dialect"),
    [
        ("/v1/chat/completions", {}, Dialect.OPENAI),
        ("/v1/chat/completions", {"anthropic-version": "2023-06-01"}, Dialect.OPENAI),
        ("/v1/models", {}, Dialect.OPENAI),
        ("/v1", {}, Dialect.OPENAI),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, Dialect.ANTHROPIC),
        ("/v1/messages", {}, Dialect.ANTHROPIC),
        ("/v1/messages/batches", {}, Dialect.ANTHROPIC),
        ("/v1/files", {"anthropic-version": "2023-06-01"}, Dialect.ANTHROPIC),
        ("/api/tags", {}, Dialect.OLLAMA),
        ("/api/unheard-of", {}, Dialect.OLLAMA),
    ],
)
def test_whoever_asks_for_whatever_is_refused_in_its_own_dialect(path, headers, dialect):
    assert dialect_of(path=path, headers=headers) is dialect


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/v1/models", "/v1/models"),
        ("/v1/models/", "/v1/models"),
        ("/v1//chat/completions", "/v1/chat/completions"),
        ("//api/tags", "/api/tags"),
        ("/v1/", "/v1"),
        ("", ""),
    ],
)
def test_an_address_that_was_typed_with_a_slash_at_its_end_is_understood(written, meant):
    assert tidied(written) == meant


@pytest.mark.parametrize("dialect", list(Dialect))
def test_an_answer_of_one_object_may_begin_with_blanks(dialect):
    assert json.loads(beat(dialect, False) * 5 + b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        (Dialect.OPENAI, b": wait\n\n"),
        (Dialect.ANTHROPIC, b'event: ping\ndata: {"type": "ping"}\n\n'),
        (Dialect.OLLAMA, b" "),
    ],
)
def test_a_stream_waits_in_the_way_its_clients_bear(dialect, expected):
    """An Ollama client reads every line as JSON: neither an empty line nor a comment may come, blanks in front may."""
    assert beat(dialect, True) == expected


@pytest.mark.parametrize(
    ("dialect", "kind"),
    [
        (Dialect.OPENAI, b"text/event-stream"),
        (Dialect.ANTHROPIC, b"text/event-stream"),
        (Dialect.OLLAMA, b"application/x-ndjson"),
    ],
)
def test_nothing_on_the_way_may_hold_a_stream_back(dialect, kind):
    assert answer_headers(dialect, True) == [
        (b"content-type", kind),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
    ]
    assert answer_headers(dialect, False) == [(b"content-type", b"application/json")]
