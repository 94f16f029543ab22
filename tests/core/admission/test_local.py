"""A-33: which place a call gets while the ledger cannot be reached."""

from dataclasses import replace

import pytest

from providers.core.specs import ResourceGroup
from scheduler.core.admission.local import has_room_beside, local_picture, local_ticket, served_locally
from scheduler.core.decisions import Reason
from scheduler.core.gate import FailMode
from scheduler.core.ledger import ServerConfig, ServerRecord
from scheduler.core.types import Priority, Ticket, TicketState
from tests.builders import NOW, ServerBuilder, call, cluster, server

M, N = "qwen3:14b", "qwen3:8b"


def picture(*built: ServerBuilder, closed: tuple[str, ...] = ()):
    """Take the picture of servers that all go on by themselves, but for those that are `closed`."""
    records = {
        one.value.name: ServerRecord(
            config=ServerConfig(
                name=one.value.name,
                kind="ollama",
                endpoint="e",
                fail_mode=FailMode.CLOSED if one.value.name in closed else FailMode.LOCAL,
            )
        )
        for one in built
    }
    return local_picture(snapshot=cluster(*built).at(), records=records)


def own(id="o1", *, on="gpu-1", model=M, **more):
    """Make a call of this process."""
    given = {"agent": "other", "state": TicketState.ACTIVE, "started_at": NOW} | more
    return Ticket(id=id, server=on, model=model, **given)


def background(count, **more):
    return [own(f"b{number}", priority=Priority.BACKGROUND, **more) for number in range(count)]


def interactive(count, **more):
    return [own(f"i{number}", **more) for number in range(count)]


ONE = server().loaded(M, slots=2)


@pytest.mark.parametrize(
    ("built", "closed", "models"),
    [
        (ONE, (), {"gpu-1": {M}}),
        (ONE, ("gpu-1",), {}),
        (ONE.having(ready=False), (), {}),
        (ONE.having(paused=True), (), {}),
        (ONE.having(circuit_open=True), (), {}),
        (ONE.having(half_open=True), (), {}),
        (ONE.loaded(N).load("qwen3:32b", evicts=[N]), (), {"gpu-1": {M}}),
        (ONE.loading("qwen3:32b"), (), {"gpu-1": {M}}),
        (ONE.busy(M, times=2), (), {"gpu-1": {M}}),
        (ONE.drained("qwen3:32b", victims=[M]), (), {"gpu-1": {M}}),
    ],
    ids=[
        "a server that goes on",
        "one that does not",
        "one that does not answer",
        "paused",
        "resting",
        "to be tried by a single call",
        "a copy that a load was about to unload is gone",
        "what was loading is not there",
        "what others ran there is not counted",
        "a drain is over: nothing can be loaded for whoever it was for",
    ],
)
def test_the_picture_keeps_what_may_be_used_by_this_process_alone(built, closed, models):
    kept = picture(built, closed=closed)

    assert {name: set(one.warm) for name, one in kept.items()} == models
    assert all(not one.tickets and not one.loads and one.drain is None for one in kept.values())


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (call().prefers(M), [M]),
        (call().prefers("qwen3:32b", 70).then(M, 20).then(N, 10), [M]),
        (call().prefers("qwen3:32b"), None),
        (call().prefers(M, on=["gpu-2"]), None),
        (call().prefers(M).having(prompt_tokens=5000), None),
        (call().prefers(M).having(prompt_tokens=4096), [M]),
    ],
    ids=["in memory", "only what is in memory", "nothing is", "elsewhere", "too long a prompt", "a prompt that fits"],
)
def test_a_call_is_served_by_what_is_in_memory_where_it_may_run(asked, left):
    kept = picture(server().loaded(M, context_length=4096, slots=2))

    served = served_locally(picture=kept, waiter=asked.waits())

    assert (None if served is None else [each.model for each in served.candidates]) == left


def given(built, waiter, *calls):
    """Ask for a place beside some calls of this process."""
    return local_ticket(picture=picture(*built), own=calls, waiter=waiter, now=NOW + 5)


@pytest.mark.parametrize(
    ("built", "calls", "is_interactive", "is_background"),
    [
        (ONE, [], True, True),
        (ONE, interactive(1), True, True),
        (ONE, interactive(2), False, False),
        (ONE, interactive(2, on="gpu-2"), True, True),
        (ONE.loaded(N), interactive(2, model=N), True, True),
        (ONE.loaded(N).having(max_concurrent=2), interactive(2, model=N), False, False),
        (server().loaded(M, slots=9).having(max_concurrent=2, interactive_reserve=1), background(1), True, False),
        (server().loaded(M, slots=9).having(max_concurrent=4, interactive_reserve=1), background(3), True, False),
        (server().loaded(M, slots=9).having(max_concurrent=4, interactive_reserve=1), interactive(3), True, True),
        (server().loaded(M, slots=9).having(max_concurrent=4, interactive_reserve=1), interactive(4), False, False),
        (server().loaded(M, slots=1, aliases=("same:14b",)), interactive(1, model="same:14b"), False, False),
    ],
    ids=[
        "empty",
        "a slot left",
        "no slot left",
        "calls elsewhere",
        "calls on another copy",
        "the cap of the whole server",
        "2,1 with a background call",
        "4,1 with three",
        "4,1 with three interactive ones",
        "4,1 full",
        "another name of the same copy",
    ],
)
def test_slots_cap_and_reserve_hold_for_the_calls_of_this_process(built, calls, is_interactive, is_background):
    """A-41, within one process."""
    waits = call().prefers(M).waits(), call().prefers(M).background().waits()

    found = [given([built], waiter, *calls) for waiter in waits]

    assert [isinstance(each, Ticket) for each in found] == [is_interactive, is_background]
    assert {each for each in found if not isinstance(each, Ticket)} <= {Reason.GPU_BUSY}


def test_a_place_says_that_it_was_given_here():
    ticket = given([ONE], call().prefers(M).waits(key="c1", crew="lab", purpose="router"))

    assert isinstance(ticket, Ticket)
    assert (ticket.id, ticket.call, ticket.action, ticket.server, ticket.model, ticket.state) == (
        "local-c1",
        "c1",
        "local",
        "gpu-1",
        M,
        TicketState.ACTIVE,
    )
    assert (ticket.waiter, ticket.crew, ticket.purpose, ticket.granted_at) == (None, "lab", "router", NOW + 5)


def test_the_emptier_server_is_taken_and_the_preferred_model_first():
    both = [ONE, server("gpu-2").loaded(M, slots=2).loaded(N)]

    assert given(both, call().prefers(M).waits(), own()).server == "gpu-2"
    assert given(both, call().prefers(N, 70).then(M, 65).waits()).model == N
    assert given(both, call().prefers(N, 70).then(M, 65).waits(), *interactive(2, on="gpu-2", model=N)).model == M


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([], "local-analyst"),
        ([own(key="k")], "local-analyst"),
        ([own(key="k"), own("o2", key="k", on="gpu-9")], Reason.KEY_LIMIT),
        ([own(key="other"), own("o2", key="k", model=N)], Reason.GPU_BUSY),
    ],
    ids=["none", "one", "two, wherever they run", "its key has room, the copy has none"],
)
def test_a_key_runs_no_more_calls_in_this_process_than_it_may_anywhere(calls, found):
    built = server().loaded(M, slots=1 if found is Reason.GPU_BUSY else 9)

    waiter = replace(call().prefers(M).waits(), key="k", key_limit=2)

    ticket = given([built], waiter, *calls)

    assert (ticket.id if isinstance(ticket, Ticket) else ticket) == found


@pytest.mark.parametrize(
    ("built", "calls", "has_room"),
    [
        (ONE, interactive(1), True),
        (ONE, interactive(2), False),
        (ONE, [own("late"), *interactive(1)], True),
        (ONE.having(max_concurrent=1), interactive(1, model=N), False),
        (ONE, interactive(2, on="gpu-2"), True),
        (server("gpu-2").loaded(M), interactive(5), True),
    ],
    ids=["a slot left", "none", "it is not in its own way", "the cap", "calls elsewhere", "a server that is not ours"],
)
def test_a_ticket_of_the_ledger_that_comes_late_needs_room_beside_what_went_on(built, calls, has_room):
    late = own("late")

    assert has_room_beside(picture=picture(built), own=calls, ticket=late, now=NOW) is has_room


GROUP = ResourceGroup(name="bus", max_concurrent=2)
LEFT, RIGHT = (server(name).loaded(M, slots=9).having(resource_group=GROUP) for name in ("gpu-1", "gpu-2"))


@pytest.mark.parametrize(
    ("closed", "calls", "is_placed"),
    [
        ((), interactive(1, on="gpu-2"), True),
        ((), [*interactive(1), own("other", on="gpu-2")], False),
        (("gpu-2",), interactive(2, on="gpu-2"), False),
        (("gpu-2",), interactive(1, on="gpu-2"), True),
        (("gpu-1", "gpu-2"), [], False),
    ],
    ids=["room", "full over two servers", "full by calls on one that is closed", "room beside these", "all are closed"],
)
def test_the_cap_of_a_resource_group_holds_over_all_calls_of_this_process(closed, calls, is_placed):
    """A-35, within one process."""
    kept = picture(LEFT, RIGHT, closed=closed)
    waiter = call().prefers(M).waits()

    served = served_locally(picture=kept, waiter=waiter)
    found = local_ticket(picture=kept, own=calls, waiter=waiter, now=NOW) if served else None

    assert isinstance(found, Ticket) is is_placed
    assert has_room_beside(picture=kept, own=calls, ticket=own("late"), now=NOW) is (is_placed or not kept)
    assert not isinstance(found, Ticket) or found.server not in closed
