"""The attempt loop: a ticket per attempt, given back before a pause and before another server is asked."""

import asyncio
from collections.abc import Callable

import pytest

from providers.core.engines.base import Trouble
from providers.core.relaying import RelayRequest
from scheduler.core.admission.retrying import Failure
from scheduler.core.ledger import CallEnd, Outcome
from scheduler.services.attempts import NoAnswer, Placed, RunningCall, call_open
from scheduler.services.placing import NoPlace
from tests.fakes.scripted_relay import Answer, ScriptedRelay
from tests.services.world import World, call, doors_of

SMALL, LARGE = "qwen3:14b", "qwen3:32b"
REQUEST = RelayRequest(method="POST", path="/api/chat", silence_s=60, body=b"{}")


class Calls:
    """A world with a door to engines that answers by a script. Pauses take no time; they are written down."""

    def __init__(self, world: World, *script: Answer | Trouble | asyncio.Event) -> None:
        self.world = world
        self.relay = ScriptedRelay(*script)
        self.doors = doors_of(world, self.relay, pause=self.pause)
        self.held = self.doors.held
        self.pauses: list[tuple[float, int]] = []
        self.places: list[Placed | None] = []

    async def open(self, *models: str, wait_s: float = 0, id: str = "c1", **more: Callable[[], None]) -> RunningCall:
        """Open a call."""
        return await call_open(
            doors=self.doors,
            call=call("a", *models),
            id=id,
            wait_s=wait_s,
            is_stream=True,
            prepare=lambda placed: REQUEST,
            on_place=self.places.append,
            on_lapse=more.get("on_lapse", lambda: None),
        )

    async def pause(self, seconds: float) -> None:
        """Let time pass at once; note how long, and how many tickets are held meanwhile."""
        self.pauses.append((seconds, len(self.tickets())))

    def tickets(self) -> dict[str, str]:
        """Map the tickets that are held to their servers."""
        return {ticket.id: ticket.server for ticket in self.world.ledger.replica.tickets.values()}

    async def ends(self) -> list[tuple[str, str, int | None]]:
        """List how attempts ended: call, end, status."""
        entries = await self.world.ledger.journal(after="", count=1000)
        events = [event for entry in entries for event in entry.events if event["type"] == "released"]
        return [(str(e["call"]), str(e["end"]), e["status"]) for e in events]  # type: ignore[misc]


async def until(is_so: Callable[[], bool]) -> None:
    """Let others work until something is so."""
    async with asyncio.timeout(5):
        while not is_so():  # noqa: ASYNC110 - nothing rings when a fake changes
            await asyncio.sleep(0)


async def both() -> World:
    """Both servers hold the small model."""
    return await World().holding(gpu_1=(SMALL,), gpu_2=(SMALL,))


async def one() -> World:
    """One server holds the small model, the other cannot."""
    return await World().holding(gpu_1=(SMALL,))


async def alone() -> World:
    """One server holds the small model, and there is no other."""
    world = await one()
    await world.ledger.configure(
        servers=[record.config for record in world.ledger.replica.servers.values() if record.config.name == "gpu-1"],
        footprints={},
        weights={},
    )
    return world


async def test_a_ticket_is_held_from_before_the_request_to_the_end_of_the_answer():
    calls = Calls(await one(), Answer(pieces=(b"a", b"b")))
    held: list[dict[str, str]] = []
    calls.relay.on_open = lambda: held.append(calls.tickets())

    running = await calls.open(SMALL)

    assert held == [{"t-c1": "gpu-1"}]
    assert running.first == b"a"
    assert await running.piece() == b"b"
    assert await running.piece() == b""
    assert calls.tickets() == {"t-c1": "gpu-1"}
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))
    assert calls.tickets() == {}
    assert await calls.ends() == [("c1", "ok", 200)]


async def test_a_busy_engine_is_asked_again_after_a_pause_without_a_ticket_meanwhile():
    """C36: the slot was kept while the call slept before its retry."""
    world = await alone()
    calls = Calls(world, Answer(status=503, headers=(("retry-after", "4"),)), Answer())
    running = await calls.open(SMALL, wait_s=60)

    assert calls.pauses == [(4.0, 0)]
    assert calls.tickets() == {"t-c1.2": "gpu-1"}
    assert [p and (p.attempt, p.ticket.server) for p in calls.places] == [(1, "gpu-1"), None, (2, "gpu-1")]
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))
    assert await calls.ends() == [("c1", "error", 503), ("c1.2", "ok", 200)]


@pytest.mark.parametrize(
    "failure",
    [
        Trouble.REFUSED,
        Trouble.UNREACHED,
        Answer(status=503),
        Answer(status=429),
        Answer(status=500),
        Answer(pieces=(Trouble.BROKEN,)),
    ],
    ids=["refused", "unreached", "503", "429", "500", "died before the first byte"],
)
async def test_what_no_engine_works_on_is_sent_to_another_server_at_once(failure):
    """C65, C57: never two tickets at once, and each attempt is seen."""
    calls = Calls(await both(), failure, Answer(pieces=(b"whole",)))
    most: list[int] = []
    calls.relay.on_open = lambda: most.append(len(calls.tickets()))

    running = await calls.open(SMALL)

    assert running.first == b"whole"
    assert most == [1, 1]
    assert calls.pauses == [(0.0, 0)]
    assert len({endpoint for endpoint, _ in calls.relay.asked}) == 2
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))
    assert [call for call, _, _ in await calls.ends()] == ["c1", "c1.2"]


@pytest.mark.parametrize("trouble", [Trouble.TIMED_OUT, Trouble.BROKEN])
async def test_what_an_engine_may_be_at_work_on_is_never_sent_again(trouble):
    """C65: two generations ran and were booked."""
    calls = Calls(await both(), trouble)

    with pytest.raises(NoAnswer) as caught:
        await calls.open(SMALL)

    assert caught.value.failure is Failure.BROKEN
    assert len(calls.relay.asked) == 1
    assert calls.tickets() == {}


async def test_an_error_of_the_callers_own_is_handed_to_it():
    """C25: nothing is tried elsewhere, nobody is blamed."""
    calls = Calls(await both(), Answer(status=400, pieces=(b"no",)))

    running = await calls.open(SMALL)

    assert (running.status, running.first) == (400, b"no")
    assert len(calls.relay.asked) == 1
    await running.end(outcome=Outcome(ok=False, end=CallEnd.REFUSED))


async def test_a_call_that_is_cancelled_before_its_first_byte_closes_the_connection_and_frees_its_place():
    """C34: nobody listened before the first byte, and the slot stayed taken."""
    never = asyncio.Event()
    answer = Answer(pieces=(never,))
    calls = Calls(await one(), answer)
    opening = asyncio.ensure_future(calls.open(SMALL))
    await calls.relay.opened.wait()
    await asyncio.sleep(0)

    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert answer.is_closed
    assert calls.tickets() == {}
    assert [end for _, end, _ in await calls.ends()] == ["cancelled"]


async def test_each_piece_is_a_sign_of_life_and_the_first_one_is_written_down():
    """What tells an engine that is slow from one that is wedged."""
    world = await one()
    calls = Calls(world, Answer(pieces=(b"a", b"b")))
    calls.relay.on_open = lambda: world.clock.advance(7)
    opened_at = world.clock()
    running = await calls.open(SMALL)
    (held,) = calls.held._held.values()
    progress = held.progress
    seen = [progress.at]
    world.clock.advance(3)

    await running.piece()
    seen.append(progress.at)
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))

    assert seen == [opened_at + 7, opened_at + 10]
    (event,) = [e for entry in await world.ledger.journal(after="", count=1000) for e in entry.events if "end" in e]
    assert (event["first_byte_at"], event["status"]) == (opened_at + 7, 200)


async def test_a_place_on_a_server_that_is_taken_away_meanwhile_is_given_back():
    world = await one()
    calls = Calls(world)
    real = world.ledger.commit

    async def commit(**changes):
        committed = await real(**changes)
        del world.ledger.replica.servers["gpu-1"]
        return committed

    world.ledger.commit = commit  # type: ignore[method-assign]
    with pytest.raises(NoPlace):
        await calls.open(SMALL)

    assert calls.tickets() == {}
    assert calls.relay.asked == []


async def test_a_request_that_cannot_be_made_frees_its_place():
    calls = Calls(await one())

    def broken(placed: Placed) -> RelayRequest:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await call_open(
            doors=calls.doors,
            call=call("a", SMALL),
            id="c1",
            wait_s=0,
            is_stream=True,
            prepare=broken,
            on_place=calls.places.append,
            on_lapse=lambda: None,
        )

    assert calls.tickets() == {}
