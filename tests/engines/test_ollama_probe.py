"""What Ollama says about itself, read from recorded payloads."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.core.engines.base import FailureKind, HttpReply, ProbeFailure, Trouble
from providers.core.engines.ollama import OllamaEngine
from providers.core.engines.ollama_listing import parse_expiry
from providers.core.types import AvailableModel, LoadedCopy, Observation

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp()
ENGINE = OllamaEngine()


def ok(body):
    return HttpReply(status=200, body=body if isinstance(body, bytes) else json.dumps(body).encode())


def probe(*, version=None, ps=None, tags=None):
    empty = ok({"models": []})
    replies = (version or ok({"version": "0.12.3"}), ps or empty, tags or empty)
    return ENGINE.parse_probe(replies=replies, now=NOW)


def loaded(recorded, name):
    return probe(ps=ok(recorded(name))).loaded


def test_a_model_kept_for_ever_has_no_expiry(recorded):
    """C01: a date 292 years ahead with nine digits and an offset is no date; the copy may still be evicted."""
    assert loaded(recorded, "ps_kept_for_ever.json") == (
        LoadedCopy(model="qwen3:14b", footprint_mib=11264, digest="aa" * 32, context_length=32768, expires_at=None),
    )


def test_missing_gpu_bytes_mean_none_on_the_gpu(recorded):
    """C03: older servers leave the field out for a model that runs on the CPU."""
    assert loaded(recorded, "ps_cpu_only.json") == (
        LoadedCopy(
            model="llama3.2:3b",
            footprint_mib=0,
            host_mib=3072,
            digest="dd" * 32,
            context_length=None,
            expires_at=NOW + 240,
        ),
    )


def test_a_partial_offload_is_charged_to_the_gpu_for_its_part_alone(recorded):
    """C04: 22 of 47 GB are on a card of 24564 MiB; the copy is spilling, not free memory of its own."""
    (copy,) = loaded(recorded, "ps_partial_offload.json")

    assert (copy.footprint_mib, copy.host_mib, copy.is_spilling) == (20981, 23842, True)


def test_memory_is_what_is_measured_not_what_was_declared(recorded):
    """C26: a long context takes far more than the 3277 MiB that were declared."""
    assert [copy.footprint_mib for copy in loaded(recorded, "ps_long_context.json")] == [12398]


def test_an_over_committed_report_is_read_as_it_stands(recorded):
    """C27: the engine's own estimates exceed the card; nothing wraps around, nothing raises."""
    assert sum(copy.footprint_mib for copy in loaded(recorded, "ps_over_committed.json")) == 25750


def test_two_tags_of_one_digest_are_one_copy_with_two_names(recorded):
    """C08: asking for the tag that the running list does not show must not look like a cold load."""
    seen = probe(ps=ok(recorded("ps_one_of_two_tags.json")), tags=ok(recorded("tags_two_tags_one_digest.json")))

    assert seen == Observation(
        loaded=(
            LoadedCopy(
                model="chat-prod",
                footprint_mib=13352,
                digest="e9" * 32,
                context_length=8192,
                expires_at=NOW + 240,
                aliases=("gpt-oss:20b",),
            ),
        ),
        available=(
            AvailableModel(model="chat-prod", size_mib=13155, digest="e9" * 32),
            AvailableModel(model="gpt-oss:20b", size_mib=13155, digest="e9" * 32),
        ),
        version="0.12.3",
    )


def test_cloud_models_take_no_place_and_names_have_one_spelling(recorded):
    """C06: the default registry, namespace and tag may be spelled out; a remote model runs elsewhere."""
    assert probe(tags=ok(recorded("tags_with_remote.json"))).available == (
        AvailableModel(model="qwen3:8b", size_mib=4984, digest="8b" * 32),
        AvailableModel(model="bge-m3", size_mib=1105, digest="b3" * 32),
    )


def test_a_probe_asks_only_what_can_never_start_a_load():
    """C24: a chat sent to prove life once restarted healthy engines."""
    assert [(call.method, call.path) for call in ENGINE.probe_calls()] == [
        ("GET", "/api/version"),
        ("GET", "/api/ps"),
        ("GET", "/api/tags"),
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 422])
def test_a_server_that_does_not_tell_its_version_or_disk_is_alive(status):
    """C24: any 4xx means alive; what it does not say is unknown, not empty."""
    seen = probe(version=HttpReply(status=status), tags=HttpReply(status=status))

    assert seen == Observation(loaded=(), available=None, version=None)


@pytest.mark.parametrize("null", [None, []])
def test_a_list_that_is_null_is_an_empty_list(null):
    assert probe(ps=ok({"models": null}), tags=ok({"models": null})) == Observation(
        loaded=(), available=(), version="0.12.3"
    )


def test_unknown_fields_are_ignored():
    entry = {"name": "m:1b", "size": 1048576, "size_vram": 1048576, "gpu": {"id": [1]}, "digest": None}

    assert probe(ps=ok({"models": [entry], "more": 1})).loaded == (LoadedCopy(model="m:1b", footprint_mib=1),)


def test_a_model_listed_twice_is_counted_once():
    entries = [{"name": "m", "size_vram": 1048576}, {"name": "m:latest", "size_vram": 2097152}]

    assert probe(ps=ok({"models": entries})).loaded == (LoadedCopy(model="m", footprint_mib=2),)


TROUBLES = {
    Trouble.REFUSED: (FailureKind.NO_ANSWER, "GET /api/version: nothing accepts connections there."),
    Trouble.UNKNOWN_HOST: (FailureKind.NO_ANSWER, "GET /api/version: the host name of the endpoint is not known here."),
    Trouble.UNREACHED: (FailureKind.NO_ANSWER, "GET /api/version: no connection came about in time."),
    Trouble.TIMED_OUT: (FailureKind.NO_ANSWER, "GET /api/version: no answer in 5 s."),
    Trouble.BROKEN: (FailureKind.NO_ANSWER, "GET /api/version: the connection broke before the answer was whole."),
    Trouble.TOO_LARGE: (FailureKind.WRONG_ANSWER, "GET /api/version: the answer is far too large."),
    Trouble.NO_KEY: (
        FailureKind.WRONG_ANSWER,
        "GET /api/version: the key rack/token, which secretRef names, is not there.",
    ),
    Trouble.BAD_ADDRESS: (FailureKind.NO_ANSWER, "GET /api/version: the endpoint is not an address that can be asked."),
}


@pytest.mark.parametrize("trouble", Trouble)
def test_every_trouble_has_its_sentence(trouble):
    """C29: a time-out is a failed probe of this moment; nothing about the server is concluded from it for later."""
    kind, sentence = TROUBLES[trouble]

    failure = ENGINE.parse_probe(replies=(HttpReply(trouble=trouble, secret="rack/token"),), now=NOW)

    assert failure.kind is kind
    assert failure.detail.startswith(sentence)


WRONG = {
    "an error status": (HttpReply(status=500, body=b'{"error":"secret"}'), "answered HTTP 500 where an object"),
    "a redirect": (HttpReply(status=302), "was redirected (HTTP 302), which is not followed."),
    "nothing": (ok(b""), "answered nothing where an object"),
    "a page": (ok(b"<html>secret</html>"), "answered something that is not JSON where"),
    "bytes that are no text": (ok(b'{"models": "\xff"}'), "answered something that is not JSON where"),
    "endless nesting": (ok(b"[" * 100_000), "answered something that is not JSON where"),
    "a list": (ok([]), "answered JSON that is not an object where"),
    "another object": (ok({"object": "list", "data": []}), 'answered an object without "models" where'),
    "models that are no list": (ok({"models": {}}), 'answered a field "models" that is not a list where'),
    "a model that is no object": (ok({"models": ["secret"]}), 'answered an entry "models[0]" that is not an object'),
    "a model without a name": (ok({"models": [{"size": 1}]}), "answered a model without a name where"),
    "a name that is no text": (ok({"models": [{"name": 7}]}), 'answered a field "models[0].name" that is not a text'),
    "a size that is a text": (
        ok({"models": [{"name": "m", "size": "7"}]}),
        'answered a field "models[0].size" that is not a whole number of 0 or more',
    ),
    "a negative size": (ok({"models": [{"name": "m", "size_vram": -1}]}), 'a field "models[0].size_vram" that is not'),
    "a size that is no number": (ok(b'{"models":[{"name":"m","size":NaN}]}'), "answered something that is not JSON"),
    "a context that is a flag": (
        ok({"models": [{"name": "m", "context_length": True}]}),
        'a field "models[0].context_length" that is not a whole number',
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_nonsense_is_a_failed_probe_that_says_what_was_expected_and_quotes_nothing(what):
    reply, sentence = WRONG[what]

    failure = probe(ps=reply)

    assert isinstance(failure, ProbeFailure)
    assert failure.kind is FailureKind.WRONG_ANSWER
    assert failure.detail.startswith("GET /api/ps ")
    assert sentence in failure.detail
    assert "secret" not in failure.detail
    assert ENGINE.parse_residents(reply=reply, now=NOW) == failure


JSON = st.sampled_from(
    [None, True, -1, 0, 7, 1.5, 2e300, float("nan"), "", "m", "9" * 400, [], [{}], {}, {"name": "m"}]
)
FIELD = st.sampled_from(["name", "model", "size", "size_vram", "digest", "expires_at", "context_length", "remote_host"])
LISTS = st.fixed_dictionaries({"models": st.lists(st.dictionaries(FIELD, JSON), max_size=3) | JSON})


@given(st.binary(max_size=60) | LISTS.map(lambda value: json.dumps(value).encode()))
def test_no_reply_ever_raises(body):
    reply = ok(body)

    assert isinstance(probe(version=reply, ps=reply, tags=reply), Observation | ProbeFailure)


DATES = {
    "2026-11-29T12:04:00Z": NOW + 240,
    "2026-11-29T12:04:00.5Z": NOW + 240.5,
    "2026-11-29T12:04:00.123456789Z": NOW + 240.123456,
    "2026-11-29T17:34:00+05:30": NOW + 240,
    "2026-11-29T04:04:00.000000001-08:00": NOW + 240,
    "2318-11-26T18:04:46.425846407+05:30": None,
    "9999-12-31T23:59:59.999999999-14:00": None,
    "0001-01-01T00:00:00Z": None,
    "0001-01-01T00:00:00+05:30": None,
    "2026-02-30T00:00:00Z": None,
    "12026-11-29T12:04:00Z": None,
    "٢٠٢٦-11-29T12:04:00Z": None,
    "soon": None,
    "": None,
}


@pytest.mark.parametrize("text", DATES)
def test_dates_are_read_as_the_wire_writes_them_or_not_at_all(text):
    """C01: nanoseconds, offsets and years far ahead."""
    expected = DATES[text]

    assert parse_expiry(text, now=NOW) == (None if expected is None else pytest.approx(expected, abs=1e-5))
