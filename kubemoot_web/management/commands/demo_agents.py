"""Simulated agents of two crews, for `up --demo`. Of Kubemoot they know the REST API alone: read this as an example.

One round of a crew: the coordinator selects agents (POST /plans), each of them thinks a little and then makes its call
(POST /tickets, waiting where it must), talks to the engine it was given, keeps its ticket alive meanwhile, and gives
it back with what it used. Some just call without having been selected; so does the background job.
"""

import asyncio
import os
import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kubemoot_web.management.demo_scenes import SCENES, Part, Scene
from kubemoot_web.management.http_json import exchange
from providers.bootstrap import engine_api
from providers.core.engines.base import Done, HttpCall, HttpReply
from providers.core.engines.ollama_answers import parse_answer
from providers.ports import EngineApi

THINKING_S = 0.5  # how long the first selected agent triages before it calls; each further one takes as much more
BREATH_S = 2.0  # after something went wrong
WAIT_S = 20
LONGEST_ANSWER_S = 600
QUESTION = "Compare the two plans on the table and say which one you would take, and why."


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The REST API, as any program sees it."""

    address: str
    token: str
    engine: EngineApi

    async def call(self, method: str, path: str, body: object = None, *, timeout_s: float = 60) -> tuple[int, Any]:
        """Make one call; an error of the API is an answer like any other."""
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.address}/api/v1{path}"
        return await exchange(method=method, url=url, body=body, headers=headers, timeout_s=timeout_s)


class Command(BaseCommand):
    """Lets simulated agents talk for ever."""

    help = "Simulated agents that use the REST API at ADDRESS (started by `up --demo`)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("address", help="where Kubemoot runs, like http://127.0.0.1:8000")

    def handle(self, *_: str, **options: Any) -> None:
        """Let both crews talk until told to end."""
        token = os.environ.get("DEMO_AGENTS_TOKEN", "")
        if not token:
            raise CommandError("DEMO_AGENTS_TOKEN is not set: write a token with the scopes read and call into it.")
        asyncio.run(self._talk(address=options["address"].rstrip("/"), token=token))

    async def _talk(self, *, address: str, token: str) -> None:
        """Play one scene after another, and begin again."""
        api = Api(address=address, token=token, engine=engine_api())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)  # blocked threads end with us
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=32))
        rounds = count(1)
        for scene in cycle(SCENES):
            await self._play(api, scene=scene, rounds=rounds)

    async def _play(self, api: Api, *, scene: Scene, rounds: Iterator[int]) -> None:
        """Run the parts of a scene side by side."""
        until = asyncio.get_running_loop().time() + scene.lasts_s
        async with asyncio.TaskGroup() as parts:
            for part in scene.parts:
                parts.create_task(self._repeat(api, part=part, until=until, rounds=rounds))

    async def _repeat(self, api: Api, *, part: Part, until: float, rounds: Iterator[int]) -> None:
        """Hold one round after another until the scene is over."""
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(part.begins_after_s)
        while clock() < until:
            try:
                await self._round(api, part=part, thread=f"demo-{part.crew}-{os.getpid()}-{next(rounds)}")
            except* OSError as errors:
                self.stdout.write(f"{part.crew}: Kubemoot or an engine cannot be reached ({errors.exceptions[0]}).")
                await asyncio.sleep(BREATH_S)
            await asyncio.sleep(part.pause_s)

    async def _round(self, api: Api, *, part: Part, thread: str) -> None:
        """Select the agents, unless they just call, and let them make their calls."""
        if part.is_selected:
            status, planned = await api.call("POST", "/plans", {"agents": part.agents, "thread": thread})
            if status >= 400:
                self.stdout.write(f"{thread}: planning was refused: {planned['error']['message']}")
                await asyncio.sleep(BREATH_S)
                return
        async with asyncio.TaskGroup() as calls:
            for place, agent in enumerate(part.agents, start=1):
                thinking_s = place * THINKING_S if part.is_selected else 0.0
                calls.create_task(
                    self._contribute(api, agent=agent, thread=thread, is_job=part.is_job, thinking_s=thinking_s)
                )

    async def _contribute(self, api: Api, *, agent: str, thread: str, is_job: bool, thinking_s: float) -> None:
        """Make one agent's call, or stand aside."""
        await asyncio.sleep(thinking_s)
        wish = {"agent": agent, "thread": thread, "phase": "mulling", "promptTokens": 200, "wait": WAIT_S}
        if is_job:
            wish |= {"priority": "background", "purpose": "summary"}
        status, answer = await api.call("POST", "/tickets", wish)
        while status == 202:
            status, answer = await api.call("GET", f"/waiters/{answer['waiter']}?wait={WAIT_S}")
        if status not in (200, 201):
            self.stdout.write(f"{agent} stands aside: {answer.get('message') or answer.get('error')}")
            await asyncio.sleep(BREATH_S)  # or a Kubemoot that fails would be asked a hundred times a second
            return
        renewing = asyncio.create_task(self._renew(api, ticket=answer))
        outcome: dict[str, object] = {"ok": False}
        try:
            outcome = await ask_engine(engine=api.engine, ticket=answer)
        finally:
            renewing.cancel()
            await api.call("DELETE", f"/tickets/{answer['id']}", outcome)

    async def _renew(self, api: Api, *, ticket: dict[str, Any]) -> None:
        """Keep a ticket alive while its call runs."""
        while True:
            await asyncio.sleep(ticket["leaseSeconds"] / 3)
            await api.call("POST", f"/tickets/{ticket['id']}/renew")


async def ask_engine(*, engine: EngineApi, ticket: dict[str, Any]) -> dict[str, object]:
    """Call the model where the ticket says, with the options that it gives, and tell how that ended."""
    body = {
        "model": ticket["model"],
        "messages": [{"role": "user", "content": QUESTION}],
        **({"options": ticket["options"]} if ticket.get("options") else {}),
    }
    call = HttpCall(method="POST", path="/api/chat", json=body, timeout_s=LONGEST_ANSWER_S)
    return outcome_of(reply=await engine.send(endpoint=ticket["endpoint"], call=call))


def outcome_of(*, reply: HttpReply) -> dict[str, object]:
    """Say how a call ended, for giving its ticket back: only a whole answer is a success, and only it counts tokens."""
    *_, last = parse_answer(reply=reply)
    if not isinstance(last, Done):
        return {"ok": False}
    return {"ok": True, "promptTokens": last.prompt_tokens, "completionTokens": last.completion_tokens}
