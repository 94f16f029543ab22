"""Loads against a scripted engine, where the simulated one is too well-behaved."""

import json

import pytest

from providers.core.engines.base import HttpReply, Trouble
from providers.services.loading import LoadFailed, LoadStep
from tests.services.loading import SHORT, Report, load


class Scripted:
    """An engine that answers each path from its own list, the last answer for ever; it remembers what it was sent."""

    url = "http://scripted:11434"

    def __init__(self, **answers):
        self.answers = answers
        self.sent = []

    async def send(self, *, endpoint, call):
        name = call.path.rpartition("/")[2]
        self.sent.append((call.method, name))
        replies = self.answers.get(name, [{"version": "1", "models": []}])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        return reply if isinstance(reply, HttpReply) else HttpReply(status=200, body=json.dumps(reply).encode())


HOLDING = {"models": [{"name": "old", "size_vram": 1048576}]}
BOTH = {"models": [{"name": "new", "size_vram": 1048576}, {"name": "old", "size_vram": 1048576}]}
EMPTY = {"models": []}
BROKEN = HttpReply(trouble=Trouble.BROKEN)
DONE = {"done": True}


async def test_one_bad_answer_while_a_victim_goes_is_asked_again():
    engine = Scripted(ps=[HOLDING, BROKEN, HttpReply(status=500), HOLDING, EMPTY, BOTH], generate=[DONE])

    result = await load(engine, engine, "new", victims=("old",), report=Report())

    assert result.copy.model == "new"


async def test_three_bad_answers_in_a_row_fail_the_load_before_it_was_sent():
    engine = Scripted(ps=[HOLDING, BROKEN], generate=[DONE])

    with pytest.raises(LoadFailed, match="the connection broke") as failed:
        await load(engine, engine, "new", victims=("old",), report=Report())

    assert failed.value.step is LoadStep.UNLOAD
    assert engine.sent.count(("POST", "generate")) == 1


async def test_a_refused_unload_fails_the_load_before_it_was_sent():
    engine = Scripted(ps=[HOLDING], generate=[HttpReply(status=500)])

    with pytest.raises(LoadFailed) as failed:
        await load(engine, engine, "new", victims=("old",), report=Report())

    assert (failed.value.step, failed.value.model) == (LoadStep.UNLOAD, "old")
    assert engine.sent.count(("POST", "generate")) == 1


async def test_a_model_that_is_not_listed_after_its_load_is_not_believed():
    engine = Scripted(ps=[EMPTY], generate=[DONE])

    with pytest.raises(LoadFailed) as failed:
        await load(engine, engine, "new", limits=SHORT, report=Report())

    assert failed.value.step is LoadStep.CONFIRM
    assert str(failed.value) == (
        "The engine said that new was loaded, but did not list it within 0.1 s. Did somebody unload it?"
    )


async def test_a_model_that_neither_generates_nor_embeds_fails_with_what_the_engine_said_last():
    refused = HttpReply(status=400)
    engine = Scripted(ps=[EMPTY], generate=[refused], embed=[refused])

    with pytest.raises(LoadFailed, match="POST /api/embed for new answered HTTP 400"):
        await load(engine, engine, "new", report=Report())
