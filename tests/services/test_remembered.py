"""Answers of the catalog that are remembered for a moment: asked for seldom, and never older than a second."""

import asyncio

import pytest

from scheduler.ports import UnknownAgent
from scheduler.services.remembered import RememberedCallers
from tests.fakes.manual_clock import ManualClock


class Asked:
    """A catalog that counts its questions and answers when it is told to."""

    def __init__(self):
        self.questions = 0
        self.answer = frozenset({"qwen3:8b"})
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def models(self):
        self.questions += 1
        answer = self.answer
        await self.may_answer.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def catalog():
    return Asked()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def callers(catalog, clock):
    return RememberedCallers(catalog=catalog, clock=clock)


async def rest():
    """Let what runs in the background come to its end."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_answer_is_good_for_a_second(callers, catalog, clock):
    assert await callers.models() == {"qwen3:8b"}
    clock.advance(0.74)
    assert await callers.models() == {"qwen3:8b"}
    assert catalog.questions == 1

    catalog.answer = frozenset()
    clock.advance(0.26)
    assert await callers.models() == frozenset()


async def test_who_asks_all_the_time_never_waits(callers, catalog, clock):
    await callers.models()
    clock.advance(0.8)
    catalog.answer = frozenset({"qwen3:14b"})
    catalog.may_answer.clear()

    assert [await callers.models() for _ in range(3)] == [{"qwen3:8b"}] * 3
    await rest()
    assert catalog.questions == 2
    catalog.may_answer.set()
    await rest()
    assert await callers.models() == {"qwen3:14b"}


async def test_a_slow_answer_is_as_old_as_its_question(callers, catalog, clock):
    catalog.may_answer.clear()
    asking = asyncio.ensure_future(callers.models())
    await rest()
    clock.advance(0.9)
    catalog.may_answer.set()
    await asking
    clock.advance(0.2)

    await callers.models()

    assert catalog.questions == 2


async def test_a_hundred_who_ask_at_once_ask_once_and_one_that_leaves_ends_nothing(callers, catalog):
    catalog.may_answer.clear()
    asking = [asyncio.ensure_future(callers.models()) for _ in range(100)]
    await rest()
    asking[0].cancel()
    await rest()
    catalog.may_answer.set()

    assert await asyncio.gather(*asking[1:]) == [{"qwen3:8b"}] * 99
    assert catalog.questions == 1


async def test_what_was_registered_while_others_were_told_no_is_found_at_once(callers, catalog):
    catalog.answer = UnknownAgent("default/analyst")
    catalog.may_answer.clear()
    first = asyncio.ensure_future(callers.models())
    await rest()
    catalog.answer = frozenset({"qwen3:8b"})
    second = asyncio.ensure_future(callers.models())
    await rest()
    catalog.may_answer.set()

    with pytest.raises(UnknownAgent):
        await first
    assert await second == {"qwen3:8b"}


async def test_what_is_gone_when_it_is_asked_for_again_is_forgotten(callers, catalog, clock):
    await callers.models()
    clock.advance(0.8)
    catalog.answer = UnknownAgent("default/analyst")
    await callers.models()
    await rest()

    with pytest.raises(UnknownAgent):
        await callers.models()
