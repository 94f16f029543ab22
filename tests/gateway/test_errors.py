"""Errors in the shape of each dialect."""

import json

import pytest

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import STATUSES, engine_refusal, engine_words, error_answer, error_frame

OPENAI, OLLAMA, ANTHROPIC = Dialect.OPENAI, Dialect.OLLAMA, Dialect.ANTHROPIC


def answer(dialect, code, **more):
    """Make an error with its body read and its headers as a mapping."""
    status, headers, body = error_answer(dialect, code, "Said so.", **more)
    assert dict(headers)[b"content-length"] == str(len(body)).encode()
    kept = {
        name.decode(): value.decode() for name, value in headers if name not in (b"content-length", b"content-type")
    }
    return status, kept, json.loads(body)


def test_the_openai_shape():
    assert answer(OPENAI, "model-not-found", param="model") == (
        404,
        {"x-should-retry": "false", "x-kubemoot-reason": "model-not-found"},
        {
            "error": {
                "message": "Said so.",
                "type": "not_found_error",
                "param": "model",
                "code": "model-not-found",
            }
        },
    )


def test_the_ollama_shape_is_a_text():
    assert answer(OLLAMA, "prompt-too-large") == (
        422,
        {"x-should-retry": "false", "x-kubemoot-reason": "prompt-too-large"},
        {"error": "Said so."},
    )


def test_the_anthropic_shape_has_statuses_of_its_own():
    assert answer(ANTHROPIC, "gpu-busy", retry_after_s=3) == (
        529,
        {"x-should-retry": "false", "x-kubemoot-reason": "gpu-busy", "retry-after": "3"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Said so."}},
    )


@pytest.mark.parametrize(
    ("code", "openai", "anthropic"),
    [
        ("gpu-busy", (503, "overloaded_error"), (529, "overloaded_error")),
        ("model-too-large", (422, "invalid_request_error"), (400, "invalid_request_error")),
        ("prompt-too-large", (422, "invalid_request_error"), (400, "invalid_request_error")),
        ("queue-full", (503, "overloaded_error"), (529, "overloaded_error")),
        ("queue-cleared", (503, "overloaded_error"), (529, "overloaded_error")),
        ("model-not-found", (404, "not_found_error"), (404, "not_found_error")),
        ("unauthorized", (401, "authentication_error"), (401, "authentication_error")),
        ("forbidden", (403, "permission_error"), (403, "permission_error")),
        ("too-large-body", (413, "invalid_request_error"), (413, "request_too_large")),
        ("engine-unreachable", (502, "api_error"), (500, "api_error")),
        ("engine-error", (502, "api_error"), (500, "api_error")),
        ("stream-truncated", (502, "api_error"), (500, "api_error")),
        ("ledger-unavailable", (503, "overloaded_error"), (529, "overloaded_error")),
        ("bad-request", (400, "invalid_request_error"), (400, "invalid_request_error")),
    ],
)
def test_statuses_and_types(code, openai, anthropic):
    status, _, body = answer(OPENAI, code)
    assert (status, body["error"]["type"], body["error"]["code"]) == (*openai, code)
    status, _, body = answer(ANTHROPIC, code)
    assert (status, body["error"]["type"]) == anthropic


@pytest.mark.parametrize("more", [{}, {"retry_after_s": 7}])
@pytest.mark.parametrize("code", list(STATUSES))
def test_no_library_sends_a_call_again_by_itself(code, more):
    """C65: libraries repeat 429 and 500 upwards by themselves, at once, three times."""
    assert answer(OPENAI, code, **more)[1]["x-should-retry"] == "false"


@pytest.mark.parametrize(
    ("seconds", "header"),
    [(0, "1"), (-5, "1"), (0.2, "1"), (1, "1"), (1.2, "2"), (7, "7"), (1e30, "86400"), (float("nan"), "86400")],
)
def test_the_wait_is_whole_seconds_and_never_none(seconds, header):
    """C64: of what clients make of fractions, dates and negatives, nobody can be sure."""
    assert answer(OPENAI, "gpu-busy", retry_after_s=seconds)[1]["retry-after"] == header


@pytest.mark.parametrize(
    ("dialect", "stream", "frame"),
    [
        (OPENAI, True, b'data: {"error":{"message":"No.","type":"api_error","param":null,"code":"engine-error"}}\n\n'),
        (OPENAI, False, b'{"error":{"message":"No.","type":"api_error","param":null,"code":"engine-error"}}'),
        (OLLAMA, True, b'{"error":"No."}\n'),
        (OLLAMA, False, b'{"error":"No."}'),
        (
            ANTHROPIC,
            True,
            b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"No."}}\n\n',
        ),
        (ANTHROPIC, False, b'{"type":"error","error":{"type":"api_error","message":"No."}}'),
    ],
)
def test_after_the_status_an_error_travels_in_the_body(dialect, stream, frame):
    assert error_frame(dialect, stream, "engine-error", "No.") == frame


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":"no such option"}', "no such option"),
        (b'{"error":{"message":"no such option","type":"x"}}', "no such option"),
        (b'{"object":"error","message":"no such option"}', "no such option"),
        (b"<html>", "The model server refused the call and did not say why."),
        (b"", "The model server refused the call and did not say why."),
        (b"[" * 100_000, "The model server refused the call and did not say why."),
    ],
)
def test_an_engines_own_words_are_passed_on_in_the_callers_dialect(body, words):
    status, headers, written = engine_refusal(OLLAMA, 400, body)

    assert (status, json.loads(written)) == (400, {"error": words})
    assert (b"x-kubemoot-reason", b"engine-refused") in headers


@pytest.mark.parametrize(("dialect", "shape"), [(OPENAI, dict), (OLLAMA, str), (ANTHROPIC, dict)])
@pytest.mark.parametrize(
    ("status", "body"),
    [(404, b'{"detail":"Not Found"}'), (404, b"404 page not found"), (405, b'{"detail":"Method Not Allowed"}')],
)
def test_a_call_that_an_engine_has_not_is_told_from_a_model_that_is_not_there(dialect, shape, status, body):
    """A chat model of vLLM, asked for embeddings, seemed to a client of Ollama not to be there at all."""
    status, _, written = engine_refusal(dialect, status, body)

    error = json.loads(written)["error"]
    assert (status, type(error)) == (501, shape)
    assert "no such call for this model" in (error if dialect is OLLAMA else error["message"])


@pytest.mark.parametrize(
    "body",
    [b'{"error":"model not found"}', b'{"detail":"no model of that name"}', b'{"error":{"message":"Not found: a"}}'],
)
def test_a_model_that_is_not_there_stays_one(body):
    assert engine_refusal(ANTHROPIC, 404, body)[0] == 404


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (OPENAI, b'{"error": {"message":"too long","type":"x","param":"messages","code":400}, "more":1}'),
        (OLLAMA, b'{ "error":"no such option" }'),
    ],
)
def test_an_engines_answer_in_the_callers_own_dialect_is_passed_on_untouched(dialect, body):
    assert engine_refusal(dialect, 400, body)[2] is body


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "no memory"}', "no memory"),
        (b'{"error": {"message": "no memory", "code": 500}}', "no memory"),
        (b'{"message": "no memory"}', "no memory"),
        (b'{"detail": "no memory"}', "no memory"),
        (b'{"detail": [{"loc": ["body"], "msg": "no memory"}]}', "no memory"),
        (b'{"detail": []}', ""),
        (b"[]", ""),
        (b"<html>oops</html>", ""),
        (b"", ""),
        (b'{"error": 7}', ""),
    ],
)
def test_an_engines_own_sentence_is_found_in_any_shape(body, words):
    assert engine_words(body) == words
