"""An engine that works on when a client leaves, with real processes: its place stays taken, and everybody sees why."""

import asyncio
import json
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.conftest import WEB, Stack
from tests.e2e.gateway import HELLO, SET, is_idle, ollama_client, unspoilt_engines
from tests.fakes.engine_server import read_state, switch_faults

pytestmark = pytest.mark.e2e
ENDPOINT = "/endpoints/gpu-3/admission"


@pytest.fixture(scope="module", autouse=True)
def third(stack: Stack) -> Iterator[str]:
    """Give the address of an engine that has a model in memory and works on for nobody."""
    with unspoilt_engines(stack) as url:
        ollama_client(stack).chat(model=SET, messages=HELLO)
        switch_faults(url, works_on=True)
        yield url
        switch_faults(url, works_on=False)


def put(stack: Stack, **scheduling: Any) -> None:
    """Say how the third server takes calls."""
    place = "/resources/modelservers/default/gpu-3"
    _, document = stack.rest.call("GET", place)
    document["spec"]["scheduling"] |= {"abortsOnDisconnect": False, **scheduling}
    status, body = stack.rest.call("PUT", place, document)
    assert status == 200, body


async def asking(stack: Stack) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Call a model of the third server, and leave it at that."""
    host = stack.rest.address.removeprefix("http://")
    body = json.dumps({"model": SET, "messages": HELLO})
    head = f"POST /api/chat HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {stack.rest.token}\r\n"
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return reader, writer


async def becomes(look: Callable[[], Any], expected: Any, *, within_s: float = 10) -> None:
    """Wait until something looks as expected."""
    deadline = time.monotonic() + within_s
    while (seen := await asyncio.to_thread(look)) != expected:
        assert time.monotonic() < deadline, seen
        await asyncio.sleep(0.05)


async def test_the_place_of_a_client_that_left_is_free_when_the_engine_has_ended(stack: Stack, third: str):
    """A-23."""
    put(stack, callTimeoutSeconds=60)
    switch_faults(third, wedge=True)
    _, writer = await asking(stack)

    def flight() -> tuple[int, int, int]:
        _, told = stack.rest.call("GET", ENDPOINT)
        return told["inFlight"]["total"], told["inFlight"]["left"], sum(read_state(third)["inFlight"].values())

    def states() -> list[tuple[str, str]]:
        _, found = stack.rest.call("GET", "/calls?server=gpu-3&limit=1")
        return [(call["state"], call["outcome"]) for call in found["calls"]]

    await becomes(flight, (1, 0, 1))
    writer.close()
    await becomes(flight, (1, 1, 1))
    await becomes(states, [("left", None)])

    switch_faults(third, wedge=False)
    await becomes(flight, (0, 0, 0))
    await becomes(states, [("given_up", "cancelled_running")])
    (last,) = [event for event in read_state(third)["events"] if event["event"] == "call_end"][-1:]
    assert (last["how"], last["tokens"]) == ("done", 48)
    is_idle(stack)


async def test_a_web_process_that_dies_leaves_the_server_in_doubt_until_a_probe_finds_it_idle(stack: Stack, third: str):
    """A-28: the engine works on, and nobody is there any more to hear when it ends."""
    put(stack, quarantineOnAmbiguous=True, callTimeoutSeconds=4)
    switch_faults(third, wedge=True)
    _, writer = await asking(stack)
    await becomes(lambda: sum(read_state(third)["inFlight"].values()), 1)

    def told() -> tuple[str, str | None]:
        try:
            _, shown = stack.rest.call("GET", ENDPOINT)
        except OSError:  # the web process is on its way
            return "away", None
        return (shown["state"], shown["cause"]) if "state" in shown else ("away", None)

    stack.signal(signal.SIGKILL, WEB)
    writer.close()

    await becomes(told, ("quarantined", "worker_terminated"), within_s=30)
    assert sum(read_state(third)["inFlight"].values()) == 1
    switch_faults(third, wedge=False)
    await becomes(told, ("open", None), within_s=30)
    assert ollama_client(stack).chat(model=SET, messages=HELLO).message.content
