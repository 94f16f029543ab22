"""What may go wrong with a call at an engine while its lists stay well, in both dialects."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.fakes.engine_server import eventually

MODEL = "qwen3:8b"
NATIVE = ("/api/chat", {"options": {"num_predict": 6}})
OPENAI = ("/v1/chat/completions", {"max_tokens": 6})
DIALECTS = pytest.mark.parametrize(("path", "more"), [NATIVE, OPENAI], ids=["native", "openai"])


def ask(more: dict, *, streams: bool = True) -> dict:
    """Ask for six tokens."""
    return {"model": MODEL, "messages": [{"role": "user", "content": "two?"}], "stream": streams} | more


def ends(server) -> list[tuple[str, int]]:
    """List how calls ended, and after how many tokens."""
    return [(e["how"], e["tokens"]) for e in server.engine.journal.events if e["event"] == "call_end"]


@DIALECTS
async def test_a_stream_that_is_cut_breaks_its_connection_after_so_many_tokens(http, server, path, more):
    server.engine.faults.switch({"cut": 2})
    came = bytearray()

    async def read() -> None:
        async with http.stream("POST", path, json=ask(more)) as answer:
            async for piece in answer.aiter_raw():
                came.extend(piece)

    with pytest.raises(httpx.RemoteProtocolError):
        await read()

    assert len(came.split()) > 2
    assert len([line for line in came.splitlines() if line]) == 2
    await eventually(lambda: ends(server) == [("failed", 2)])


@DIALECTS
async def test_an_answer_that_is_not_streamed_is_cut_in_its_middle(http, server, path, more):
    server.engine.faults.switch({"cut": True})

    with pytest.raises(httpx.RemoteProtocolError):
        await http.post(path, json=ask(more, streams=False))


@DIALECTS
async def test_a_stream_may_end_well_on_the_wire_without_its_mark(http, server, path, more):
    server.engine.faults.switch({"no_end": 2})

    answer = await http.post(path, json=ask(more))

    assert len(answer.text.strip().splitlines()) in (2, 3)
    assert "[DONE]" not in answer.text
    assert '"done": true' not in answer.text


@DIALECTS
async def test_an_error_may_come_in_the_midst_of_a_stream(http, server, path, more):
    server.engine.faults.switch({"error_inside": 2})

    answer = await http.post(path, json=ask(more))

    *before, last = (line.removeprefix("data: ") for line in answer.text.splitlines() if line)
    assert (answer.status_code, len(before), set(json.loads(last))) == (200, 2, {"error"})


@DIALECTS
async def test_a_number_of_calls_fails_and_the_next_does_not(http, server, path, more):
    server.engine.faults.switch({"fail_calls": 2})

    statuses = [(await http.post(path, json=ask(more))).status_code for _ in range(3)]

    assert statuses == [500, 500, 200]
    assert ends(server) == [("failed", 0), ("failed", 0), ("done", 6)]


@DIALECTS
async def test_an_overload_says_when_to_come_again(http, server, path, more):
    server.engine.faults.switch({"retry503": 7})

    answer = await http.post(path, json=ask(more))

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "7")


@DIALECTS
async def test_a_wedged_engine_writes_nothing_while_its_lists_stay_well(http, server, path, more):
    """Calls in flight, not a byte, and every probe is green."""
    server.engine.faults.switch({"wedge": True})
    call = asyncio.create_task(http.post(path, json=ask(more)))
    await eventually(lambda: server.engine.journal.in_flight[MODEL] == 1 and bool(server.engine.copies))

    assert [(await http.get(place)).status_code for place in ("/api/version", "/api/ps", "/v1/models")] == [200] * 3
    assert not call.done()
    server.engine.faults.switch({"wedge": False})
    assert (await call).status_code == 200


async def test_a_wedge_also_stops_an_answer_that_has_begun(http, server):
    async def drain(pieces: AsyncIterator[bytes]) -> None:
        async for _ in pieces:
            pass

    async with http.stream("POST", "/api/chat", json=ask({"options": {"num_predict": 100_000}})) as answer:
        pieces = answer.aiter_raw()
        await anext(pieces)
        server.engine.faults.switch({"wedge": True})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(drain(pieces), timeout=0.2)

    await eventually(lambda: server.engine.journal.in_flight[MODEL] == 0)


@DIALECTS
@pytest.mark.parametrize("streams", [True, False])
async def test_a_client_that_leaves_ends_the_writing_at_once_and_what_was_written_is_counted(
    http, server, path, more, streams
):
    """C33"""
    many = {"options": {"num_predict": 100_000}} if "options" in more else {"max_tokens": 100_000}
    call = asyncio.create_task(http.post(path, json=ask(many, streams=streams)))
    await eventually(lambda: bool(server.engine.copies) and MODEL in server.state()["loaded"])
    await asyncio.wait({call}, timeout=0.1)

    call.cancel()
    await eventually(lambda: server.engine.journal.in_flight[MODEL] == 0, within_s=1.0)

    ((how, tokens),) = ends(server)
    assert how == "aborted"
    assert 0 < tokens < 100_000
    assert server.state()["tokens"] == {MODEL: tokens}
    assert (await http.post(path, json=ask(more))).status_code == 200


@DIALECTS
async def test_an_engine_that_works_on_writes_its_answer_for_nobody(http, server, path, more):
    """Some end no work when a client leaves, and their slot is taken all the while."""
    server.engine.faults.switch({"works_on": True, "wedge": True})
    call = asyncio.create_task(http.post(path, json=ask(more)))
    await eventually(lambda: server.engine.journal.in_flight[MODEL] == 1 and bool(server.engine.copies))

    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert (await http.get("/api/version")).status_code == 200
    assert server.engine.journal.in_flight[MODEL] == 1
    server.engine.faults.switch({"wedge": False})

    await eventually(lambda: ends(server) == [("done", 6)])
