"""A client's key: read from any header that clients have, looked up seldom, forgotten in time."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test.utils import CaptureQueriesContext

from kubemoot_web.access import Principal, token_create
from kubemoot_web.access.keys import KEPT_S, LONGEST, RENEW_S, Desk, Memory, key_principal, presented_key
from kubemoot_web.access.tokens import Found
from kubemoot_web.models import ApiToken
from tests.fakes.manual_clock import ManualClock

KEY = "km_0123456789ab_secret"


def basic(text: str) -> bytes:
    """Write credentials the way HTTP Basic does."""
    return b"Basic " + base64.b64encode(text.encode())


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([], None),
        ([(b"authorization", b"Bearer " + KEY.encode())], KEY),
        ([(b"authorization", b"bearer   " + KEY.encode() + b" ")], KEY),
        ([(b"Authorization", b"Bearer " + KEY.encode())], KEY),
        ([(b"x-api-key", KEY.encode())], KEY),
        ([(b"authorization", basic(f"{KEY}:"))], KEY),
        ([(b"authorization", basic(KEY))], KEY),
        ([(b"authorization", basic(f"ollama:{KEY}"))], KEY),
        ([(b"authorization", basic(f"{KEY}:{KEY}"))], KEY),
        ([(b"authorization", b"Bearer ollama")], "ollama"),
        ([(b"authorization", b"Bearer ollama"), (b"x-api-key", KEY.encode())], KEY),
        ([(b"x-api-key", b"dummy"), (b"authorization", b"Bearer " + KEY.encode())], KEY),
        ([(b"authorization", b"Bearer ")], None),
        ([(b"authorization", b"Bearer")], None),
        ([(b"authorization", b"")], None),
        ([(b"x-api-key", b"  ")], None),
        ([(b"authorization", b"Basic !!!")], None),
        ([(b"authorization", b"Basic YQ")], None),
        ([(b"authorization", basic(":"))], None),
        ([(b"authorization", b"Digest username=ada")], None),
        ([(b"authorization", b"Bearer \xff\xfe")], "ÿþ"),
        ([(b"cookie", KEY.encode())], None),
    ],
)
def test_a_key_is_read_from_whatever_header_a_client_has(headers, key):
    assert presented_key(headers) == key


def found(name: str = "robot", *, left_s: float | None = None) -> Found:
    """Make what a look-up gives."""
    return Found(principal=Principal(name=name, scopes=frozenset({"call"})), left_s=left_s)


@pytest.mark.parametrize(
    ("result", "after_s", "is_known"),
    [
        (found(), 4.9, True),
        (found(), 5.0, False),
        (found(left_s=60), 4.9, True),
        (found(left_s=2), 1.9, True),
        (found(left_s=2), 2.0, False),
        (None, 4.9, True),
        (None, 5.0, False),
    ],
)
def test_what_is_known_of_a_key_is_good_for_five_seconds_and_never_longer_than_the_key(result, after_s, is_known):
    memory = Memory(kept_s=5, most=10)
    memory.put(b"a", result, now=100)

    known = memory.get(b"a", now=100 + after_s)

    assert (known is not None) is is_known
    if known is not None:
        assert known.principal == (None if result is None else result.principal)


def test_what_is_remembered_is_bounded_and_strangers_push_nobody_out():
    memory = Memory(kept_s=5, most=3)
    memory.put(b"mine", found(), now=0)

    for number in range(100):
        memory.put(b"wrong-%d" % number, None, now=0)

    assert len(memory) == 4
    assert memory.get(b"mine", now=1) is not None
    assert memory.get(b"wrong-0", now=1) is None


def test_a_key_that_is_nobodys_any_more_is_not_remembered_as_somebodys():
    memory = Memory(kept_s=5, most=3)
    memory.put(b"a", found(), now=0)

    memory.put(b"a", None, now=5)

    assert memory.get(b"a", now=6).principal is None
    assert len(memory) == 1


@asynccontextmanager
async def counted() -> AsyncIterator[list[str]]:
    """Collect what is asked of the table of tokens meanwhile; it is there when the block has ended."""
    asked: list[str] = []
    caught = await sync_to_async(lambda: CaptureQueriesContext(connections["default"]).__enter__())()
    try:
        yield asked
    finally:
        await sync_to_async(caught.__exit__)(None, None, None)
        asked.extend(
            query["sql"] for query in caught.captured_queries if 'FROM "kubemoot_web_apitoken"' in query["sql"]
        )


@pytest.mark.django_db(transaction=True)
async def test_a_hundred_calls_at_once_and_one_after_ask_the_database_once():
    token = await token_create(name="robot", scopes=["call"], lifetime=timedelta(days=1))

    async with counted() as asked:
        together = await asyncio.gather(*(key_principal(token) for _ in range(100)))
        later = await key_principal(token)

    assert {principal.name for principal in [*together, later]} == {"robot"}
    assert len(asked) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_wrong_key_asks_the_database_once_and_what_is_no_key_never():
    wrong = "km_000000000000_abc"

    async with counted() as asked:
        answers = [await key_principal(each) for each in (wrong, wrong, "", "ollama", "km_" + "x" * LONGEST)]

    assert answers == [None] * 5
    assert len(asked) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_caller_that_leaves_does_not_end_the_look_up_of_the_others():
    token = await token_create(name="robot", scopes=["call"], lifetime=timedelta(days=1))
    first = asyncio.create_task(key_principal(token))
    second = asyncio.create_task(key_principal(token))
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).name == "robot"
    with pytest.raises(asyncio.CancelledError):
        await first


@pytest.mark.django_db(transaction=True)
async def test_a_key_that_was_taken_away_is_nobodys_for_whoever_looks_anew():
    token = await token_create(name="robot", scopes=["call"], lifetime=timedelta(days=1))
    remembering = await key_principal(token)
    await ApiToken.objects.all().adelete()

    still, anew = await key_principal(token), await Desk().principal(token)

    assert remembering == still
    assert anew is None
    assert KEPT_S <= 5


@pytest.mark.django_db(transaction=True)
async def test_nothing_that_is_remembered_holds_a_key():
    token = await token_create(name="robot", scopes=["call"], lifetime=timedelta(days=1))
    desk = Desk()
    await desk.principal(token)

    assert token.rsplit("_", 1)[1] not in repr(vars(desk)) + repr(vars(desk._memory))


@pytest.mark.django_db(transaction=True)
async def test_who_calls_all_the_time_does_not_wait_for_the_database_and_a_key_taken_away_ends_in_time():
    token = await token_create(name="robot", scopes=["call"], lifetime=None)
    clock = ManualClock()
    desk = Desk(now=clock)
    await desk.principal(token)
    await ApiToken.objects.all().adelete()

    clock.advance(RENEW_S)
    async with counted() as asked:
        meanwhile = [await desk.principal(token) for _ in range(3)]
        await asyncio.gather(*desk._asking.values())

    assert [each.name for each in meanwhile] == ["robot"] * 3
    assert len(asked) == 1
    assert await desk.principal(token) is None
