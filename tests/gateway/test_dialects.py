"""What paths mean, and how an answer is labelled."""

import json

import pytest

from kubemoot_web.gateway.dialects import PATHS, ROUTES, Dialect, answer_headers, beat


def test_every_path_has_one_meaning_and_back():
    assert {PATHS[route] for route in ROUTES.values()} == set(ROUTES)


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
