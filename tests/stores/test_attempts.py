"""Attempts in the database: one row each beside one row for their call, forgotten with it."""

from datetime import UTC, datetime

import pytest
from asgiref.sync import sync_to_async

from providers.models import EndpointAlias, ModelServer
from scheduler import queries
from scheduler.core.attempt_history import AttemptOutcome, AttemptRecord
from scheduler.models import Attempt, Call
from scheduler.stores.history import OrmHistory
from tests.stores.test_history import NOON, enqueued, entry

pytestmark = pytest.mark.django_db(transaction=True)


def granted(call: str, server: str) -> dict[str, object]:
    """Tell of a place that was given and taken."""
    return {"type": "granted", "call": call, "agent": "a/b", "server": server, "model": "m", "action": "use"}


def released(call: str, **more: object) -> dict[str, object]:
    """Tell of a place that was given back."""
    return {"type": "released", "call": call, "ok": True, "end": "ok", "status": 200, **more}


RETRIED = [
    entry(1, enqueued("c")),
    entry(2, granted("c", "gpu-1"), {"type": "delivered", "call": "c", "agent": "a/b"}),
    entry(3, released("c", ok=False, end="error", status=503)),
    entry(4, enqueued("c.2")),
    entry(5, granted("c.2", "team/gpu-2"), {"type": "delivered", "call": "c.2", "agent": "a/b"}),
    entry(7, released("c.2", first_byte_at=NOON + 6, prompt_tokens=3, completion_tokens=4)),
]


async def register(namespace: str, name: str, key: str) -> None:
    """Register a server."""
    now = datetime.fromtimestamp(NOON, tz=UTC)
    await ModelServer.objects.acreate(
        namespace=namespace, name=name, spec={}, endpoint_key=key, created_at=now, changed_at=now
    )


async def attempts_of(call: str) -> tuple[AttemptRecord, ...]:
    """Read the attempts of a call."""
    return await sync_to_async(queries.attempts_of)(call=call)


@pytest.mark.parametrize("step", [1, 2, 6])
async def test_a_call_that_was_tried_again_is_one_row_with_a_row_for_each_attempt(step):
    """A-10, in whatever portions the journal comes."""
    await register("default", "gpu-1", "http://gpu-1:11434")
    await register("team", "gpu-2", "http://gpu-2:11434")
    await register("default", "gpu-2", "http://other:11434")
    history = OrmHistory(ledger="test")

    for begin in range(0, len(RETRIED), step):
        await history.write(entries=RETRIED[begin : begin + step])
    await OrmHistory(ledger="test").write(entries=RETRIED)

    common = {"call": "c", "agent": "a/b", "model": "m"}
    assert await attempts_of("c") == (
        AttemptRecord(
            **common,
            id="c",
            number=1,
            server="gpu-1",
            endpoint="http://gpu-1:11434",
            queued_at=NOON + 1,
            admitted_at=NOON + 2,
            started_at=NOON + 2,
            finished_at=NOON + 3,
            outcome=AttemptOutcome.ERROR,
            status=503,
        ),
        AttemptRecord(
            **common,
            id="c.2",
            number=2,
            server="team/gpu-2",
            endpoint="http://gpu-2:11434",
            queued_at=NOON + 4,
            admitted_at=NOON + 5,
            started_at=NOON + 5,
            first_byte_at=NOON + 6,
            finished_at=NOON + 7,
            outcome=AttemptOutcome.OK,
            status=200,
            prompt_tokens=3,
            completion_tokens=4,
        ),
    )
    (call,) = [row async for row in Call.objects.all()]
    assert (call.id, call.attempts, call.state, call.outcome, call.server) == ("c", 2, "done", "ok", "team/gpu-2")


async def test_on_a_server_that_is_not_registered_an_attempt_has_no_endpoint():
    await OrmHistory(ledger="test").write(entries=RETRIED[:2])

    (attempt,) = await attempts_of("c")
    assert (attempt.server, attempt.endpoint) == ("gpu-1", "")


async def test_an_attempt_is_written_down_under_what_its_server_s_address_means():
    """A-06: an alias is another address of the endpoint that was contacted."""
    await register("default", "gpu-1", "https://box:443")
    await EndpointAlias.objects.acreate(
        alias_key="https://box:443", canonical_key="http://box:80", created_at=datetime.fromtimestamp(NOON, tz=UTC)
    )

    await OrmHistory(ledger="test").write(entries=RETRIED[:2])

    (attempt,) = await attempts_of("c")
    assert (attempt.server, attempt.endpoint) == ("gpu-1", "http://box:80")


async def test_the_attempts_of_a_call_are_forgotten_with_it():
    history = OrmHistory(ledger="test")
    await history.write(entries=[*RETRIED, entry(8, enqueued("d"))])

    assert await history.forget(before=NOON + 4, most=10) == 1

    assert {row.id async for row in Attempt.objects.all()} == {"d"}


async def test_a_call_without_a_crew_or_a_key_says_so_by_empty_fields_and_there_is_no_field_for_a_text():
    """A-50: what is kept are names, times and numbers."""
    await OrmHistory(ledger="test").write(
        entries=[entry(1, {**enqueued("c"), "key": "km_ab12", "purpose": "router", "prompt": "secret"})]
    )

    row = await Attempt.objects.aget()
    assert (row.key, row.purpose, row.crew, row.outcome, row.server) == ("km_ab12", "router", "", "", "")
    assert "secret" not in str(vars(row))
