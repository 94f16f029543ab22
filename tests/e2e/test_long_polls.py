"""Many callers that wait at once: they cost coroutines, not threads, and nobody else notices them."""

import asyncio
import json
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import Stack

pytestmark = pytest.mark.e2e

CALLERS = 100
PLACED = 5  # so long a line makes a second copy worth its price, and its slot goes round
WAIT_S = 12


async def long_poll(stack: Stack, number: int) -> int:
    """Ask for a model that is busy and wait; give the status."""
    place = urlsplit(stack.rest.address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    body = json.dumps({"model": "qwen3:14b", "thread": f"poll-{number}", "wait": WAIT_S}).encode()
    writer.write(
        b"POST /api/v1/tickets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + f"Authorization: Bearer {stack.rest.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    try:
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()


async def keep(stack: Stack, ticket: str) -> None:
    """Renew a ticket for ever."""
    while True:
        await asyncio.to_thread(stack.rest.call, "POST", f"/tickets/{ticket}/renew")
        await asyncio.sleep(0.5)


def threads_of(pid: int) -> int:
    """Count the threads of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_a_hundred_waiting_callers_hold_no_thread(stack: Stack):
    stack.register()
    status, holder = stack.rest.call("POST", "/tickets", {"model": "qwen3:14b", "wait": 30})
    assert status == 201
    web = next(pid for pid, command in stack.up.children().items() if "uvicorn" in command)

    async def crowd() -> tuple[list[int], int, float]:
        polls = [asyncio.create_task(long_poll(stack, number)) for number in range(CALLERS)]
        await asyncio.to_thread(stack.rest.until, lambda p: len(p["waiters"]) >= CALLERS - PLACED, within_s=WAIT_S)
        began = time.monotonic()
        await asyncio.to_thread(stack.rest.cluster)
        answered_s = time.monotonic() - began
        threads = threads_of(web)
        keeping = asyncio.create_task(keep(stack, holder["id"]))
        statuses = await asyncio.gather(*polls)
        keeping.cancel()
        return statuses, threads, answered_s

    statuses, threads, answered_s = asyncio.run(crowd())

    assert set(statuses) <= {201, 202}
    assert statuses.count(202) >= CALLERS - PLACED
    assert threads < 40
    assert answered_s < WAIT_S
    for waiter in stack.rest.cluster()["waiters"]:
        stack.rest.call("DELETE", f"/waiters/{waiter['id']}")
    stack.rest.call("DELETE", f"/tickets/{holder['id']}", {"ok": True})
