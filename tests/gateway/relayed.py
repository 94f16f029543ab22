"""A gateway without sockets: clients moved by hand, engines that answer by a script, a cluster in memory."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kubemoot_web.gateway.asking import read_asked
from kubemoot_web.gateway.dialects import ROUTES
from kubemoot_web.gateway.line import Line
from kubemoot_web.gateway.relaying import Relaying
from kubemoot_web.gateway.room import Room, Rooms
from providers.core.engines.base import Trouble
from scheduler.core.calls import Call
from tests.fakes.scripted_relay import Answer, ScriptedRelay
from tests.services.world import World, doors_of
from tests.services.world import call as make_call

MODEL = "qwen3:14b"
OPENAI, OLLAMA, ANTHROPIC = "/v1/chat/completions", "/api/chat", "/v1/messages"
MESSAGES = [{"role": "user", "content": "hello"}]
EVENT = b'data: {"model":"qwen3:14b","choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
LINE = b'{"model":"qwen3:14b","message":{"role":"assistant","content":"word"},"done":false}\n'
LAST_LINE = (
    b'{"model":"qwen3:14b","message":{"role":"assistant","content":""},"done":true,'
    b'"prompt_eval_count":12,"eval_count":1}\n'
)
WHOLE = b'{"model":"qwen3:14b","choices":[{"index":0,"message":{"role":"assistant","content":"word"}}]}'

LONGEST_S = 5.0
"""No test takes this long: who waits for ever fails."""

Script = Answer | Trouble | asyncio.Event
Piece = bytes | asyncio.Event | Trouble
WAYS = [(OPENAI, True), (OPENAI, False), (OLLAMA, True), (OLLAMA, False), (ANTHROPIC, True)]
WAY_NAMES = ["SSE", "JSON", "NDJSON", "JSON of Ollama", "SSE of Anthropic"]


class Client:
    """A client and its call. It is there until it leaves."""

    def __init__(self, path: str = OPENAI, *, stream: bool = True, headers: dict[str, str] | None = None, **body: Any):
        self.path = path
        self.body_sent = json.dumps({"model": MODEL, "messages": MESSAGES, "stream": stream, **body}).encode()
        self.left = asyncio.Event()
        self.takes = float("inf")
        self.heard: list[dict[str, Any]] = []
        pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        self.line = Line(scope={"headers": pairs}, receive=self._receive, send=self._send)

    def leave(self) -> None:
        """Close the connection."""
        self.left.set()

    @property
    def status(self) -> int | None:
        """Give the status that was heard."""
        return self.heard[0]["status"] if self.heard else None

    @property
    def headers(self) -> list[tuple[str, str]]:
        """List the headers that were heard."""
        return [(name.decode(), value.decode()) for name, value in self.heard[0]["headers"]]

    @property
    def body(self) -> bytes:
        """Join what was heard of the body."""
        return b"".join(message.get("body", b"") for message in self.heard[1:])

    @property
    def is_whole(self) -> bool:
        """Say whether the answer has ended."""
        return len(self.heard) > 1 and not self.heard[-1].get("more_body")

    async def _receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if len(self.heard) >= self.takes:
            await asyncio.Event().wait()
        self.heard.append(message)


class Gate:
    """The gateway in front of a cluster. Back-off takes no time unless `pause` is replaced."""

    def __init__(self, world: World, *script: Script, relay: Any = None) -> None:
        self.world = world
        self.relay = ScriptedRelay(*script) if relay is None else relay
        self.pauses: list[float] = []
        self.doors = doors_of(world, self.relay, pause=self._pause)
        self.held = self.doors.held
        self.made = 0

    def start(self, client: Client, call: Call | None = None, **limits: Any) -> "asyncio.Task[None]":
        """Let a client call, within limits as `relaying` takes them."""
        relaying = self.relaying(client, call, **limits)
        return asyncio.create_task(asyncio.wait_for(relaying.run(), LONGEST_S))

    def relaying(
        self,
        client: Client,
        call: Call | None = None,
        *,
        wait_s: float = 60,
        hold_s: float = 60,
        room: Room | None = None,
    ) -> Relaying:
        """Carry a client's call, once it is run."""
        self.made += 1
        route = ROUTES[client.path]
        return Relaying(
            doors=self.doors,
            line=client.line,
            asked=read_asked(dialect=route.dialect, operation=route.operation, body=client.body_sent),
            room=room or Room(Rooms(limit=10_000)),
            call=call or make_call("a", MODEL),
            id=f"c{self.made}",
            wait_s=wait_s,
            hold_s=hold_s,
        )

    async def serve(self, client: Client, call: Call | None = None, **limits: float) -> Client:
        """Let a client call, and wait until it was served."""
        await self.start(client, call, **limits)
        return client

    @property
    def tickets(self) -> list[str]:
        """List the servers of the tickets that are held."""
        return sorted(ticket.server for ticket in self.world.ledger.replica.tickets.values())

    @property
    def waiters(self) -> int:
        """Count the calls in line."""
        return len(self.world.ledger.replica.waiters)

    @property
    def asked(self) -> list[str]:
        """List the endpoints that were asked, in order."""
        return [endpoint for endpoint, _ in self.relay.asked]

    def bodies(self) -> list[dict[str, Any]]:
        """Read what the engines were sent."""
        return [json.loads(request.body) for _, request in self.relay.asked]

    async def ends(self) -> dict[str, str]:
        """Say how the attempts ended."""
        entries = await self.world.ledger.journal(after="", count=10_000)
        events = [event for entry in entries for event in entry.events if event["type"] == "released"]
        return {str(event["call"]): str(event["end"]) for event in events}

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def world_of(*, slots: int = 1, servers: int = 1, context: int | None = None, **config: Any) -> World:
    """Make a cluster of one server (or two) that has the model in memory and can load nothing else."""
    world = await World().holding(gpu_1=(MODEL,), gpu_2=(MODEL,))
    records = sorted(world.ledger.replica.servers.values(), key=lambda record: record.config.name)[:servers]
    await world.ledger.configure(
        servers=[replace(record.config, slots=slots, can_load=False, **config) for record in records],
        footprints={},
        weights={},
    )
    for record in records:
        copies = tuple(replace(copy, context_length=context) for copy in record.seen.residents)
        probe = await world.ledger.probe_begin(server=record.config.name, lease_s=10)
        assert probe is not None
        seen = replace(record.seen, residents=copies, probed_at=world.clock())
        await world.ledger.probe_end(server=record.config.name, probe=probe, seen=seen)
    return world


def answer_of(client: Client, *before: Piece) -> Answer:
    """Make a whole answer to a client; `before` comes before its end."""
    if client.path == OPENAI and b'"stream": true' in client.body_sent:
        return Answer(pieces=(*before, EVENT, DONE))
    if client.path == OPENAI:
        return Answer(pieces=(*before, WHOLE))
    return Answer(pieces=(*before, LAST_LINE))


async def until(is_so: Callable[[], bool]) -> None:
    """Let others work until something is so."""
    async with asyncio.timeout(5):
        while not is_so():  # noqa: ASYNC110 - nothing rings when a fake changes
            await asyncio.sleep(0)
