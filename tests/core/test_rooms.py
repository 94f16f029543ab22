"""What each server says to a model, with the numbers and in words."""

import pytest

from scheduler.core.messages.rooms import WORDS, refused_here, room_sentence, room_word
from scheduler.core.rooms import Room, RoomKind, room_on, rooms_for
from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.types import Candidate, Demand, Drain, LoadUnderWay, Ticket, TicketState

MODEL = "qwen3:32b"
NEED = 20480
GIB = 1024


def server(*, residents: tuple[Resident, ...] = (), **more) -> Server:
    """Make a ready server of 32 GiB, of which 28.2 may be used."""
    given = {"name": "gpu-1", "total_mib": 32 * GIB, "reserve_mib": 3891, "tickets_load": False}
    return Server(**given | {"residents": residents} | more)


def copy(model: str, gib: int | None = 12) -> Resident:
    """Make a model in memory."""
    return Resident(model=model, footprint_mib=None if gib is None else gib * GIB)


def ticket(model: str) -> Ticket:
    """Make a running call."""
    return Ticket(id=model, server="gpu-1", agent="a/b", model=model, state=TicketState.ACTIVE, started_at=0)


def load(model: str, **more) -> LoadUnderWay:
    """Make a load under way."""
    return LoadUnderWay(server="gpu-1", model=model, footprint_mib=NEED, started_at=0, **more)


def ask(asked: Server, *, size: int | None = NEED, waited_for: str = "", **candidate) -> Room:
    """Ask one server."""
    snapshot = ClusterSnapshot(
        now=10,
        servers={asked.name: asked},
        footprints={MODEL: size},
        demand={waited_for: Demand(waiting={"w": 1})} if waited_for else {},
    )
    return room_on(snapshot=snapshot, server=asked, candidate=Candidate(model=MODEL, score=1, **candidate))


ANSWERS = {
    "it has it": (ask(server(residents=(copy(MODEL, 20),))), RoomKind.RESIDENT, ()),
    "it is loading it": (ask(server(loads=(load(MODEL),))), RoomKind.LOADING, ()),
    "empty": (ask(server()), RoomKind.FREE, ()),
    "the last idle model may go": (ask(server(residents=(copy("a"), copy("b", 2)))), RoomKind.AFTER_UNLOAD, ("a",)),
    "a model in use may not": (ask(server(residents=(copy("a"),), tickets=(ticket("a"),))), RoomKind.IN_USE, ("a",)),
    "nor one that others wait for": (ask(server(residents=(copy("a"),)), waited_for="a"), RoomKind.IN_USE, ("a",)),
    "nor one that loads": (ask(server(loads=(load("a"),))), RoomKind.IN_USE, ("a",)),
    "it leaves for another": (
        ask(server(residents=(copy(MODEL, 20),), loads=(load("a", evicts=(MODEL,)),))),
        RoomKind.IN_USE,
        (),
    ),
    "kept for another": (
        ask(server(drain=Drain(model="a", agent="a/b", victims=(), since=0))),
        RoomKind.DRAINING,
        (),
    ),
    "kept for it": (ask(server(drain=Drain(model=MODEL, agent="a/b", victims=(), since=0))), RoomKind.FREE, ()),
    "its load failed": (ask(server(blocked=frozenset({MODEL}))), RoomKind.RESTS, ()),
    "not ready": (ask(server(ready=False)), RoomKind.CLOSED, ()),
    "its size is not known": (ask(server(), size=None), RoomKind.SIZE_UNKNOWN, ()),
    "another's size is not known": (ask(server(residents=(copy("a", None),))), RoomKind.SIZE_UNKNOWN, ()),
    "memory not known": (ask(server(total_mib=None)), RoomKind.MEMORY_UNKNOWN, ()),
    "not on disk": (ask(server(models=frozenset({"a"}))), RoomKind.NOT_ON_DISK, ()),
    "too large": (ask(server(), size=30 * GIB), RoomKind.TOO_LARGE, ()),
    "too large to be pulled": (ask(server(models=frozenset({"a"})), size=30 * GIB), RoomKind.TOO_LARGE, ()),
    "too large and not ready": (ask(server(ready=False), size=30 * GIB), RoomKind.TOO_LARGE, ()),
    "bound elsewhere": (ask(server(), servers=frozenset({"gpu-2"})), RoomKind.BOUND_ELSEWHERE, ()),
    "serves what it was started with": (ask(server(can_load=False)), RoomKind.CANNOT_LOAD, ()),
}


@pytest.mark.parametrize(("room", "kind", "unloads"), ANSWERS.values(), ids=ANSWERS)
def test_a_server_says_what_it_is(room, kind, unloads):
    assert (room.kind, room.unloads) == (kind, unloads)


def test_the_numbers_stand_beside_it():
    room = ask(server(residents=(copy("a"),), tickets=(ticket("a"),)))

    assert room == Room(
        server="gpu-1",
        kind=RoomKind.IN_USE,
        need_mib=NEED,
        free_mib=16589,
        usable_mib=28877,
        unloads=("a",),
    )
    assert room.lacks_mib == NEED - 16589
    assert ask(server(), size=None).lacks_mib is None


def test_the_best_answer_comes_first_and_the_nearest_of_equal_ones():
    servers = [
        server(name="never", total_mib=8 * GIB),
        server(name="far", residents=(copy("a", 20),), tickets=(ticket("a"),)),
        server(name="near", residents=(copy("a", 12),), tickets=(ticket("a"),)),
        server(name="free"),
        server(name="away", ready=False),
    ]
    snapshot = ClusterSnapshot(now=10, servers={one.name: one for one in servers}, footprints={MODEL: NEED}, demand={})

    rooms = rooms_for(snapshot=snapshot, candidate=Candidate(model=MODEL, score=1))

    assert [room.server for room in rooms] == ["free", "near", "far", "away", "never"]


SAID = {
    RoomKind.FREE: "It needs 20.0 GiB, and 24.0 GiB is free.",
    RoomKind.AFTER_UNLOAD: "It needs 20.0 GiB, 24.0 GiB is free, and a and b may go for it.",
    RoomKind.IN_USE: "It needs 20.0 GiB, 24.0 GiB is free, and a and b cannot go now.",
    RoomKind.TOO_LARGE: "It needs 20.0 GiB, and models may use 28.0 GiB here, however empty it is.",
    RoomKind.RESIDENT: "It is loaded here and takes 20.0 GiB.",
}


@pytest.mark.parametrize("kind", RoomKind, ids=[kind.name for kind in RoomKind])
def test_every_answer_has_words(kind):
    room = Room(
        server="s",
        kind=kind,
        need_mib=NEED,
        free_mib=24 * GIB,
        usable_mib=28 * GIB,
        unloads=("a", "b"),
    )

    said = room_sentence(room=room, model=MODEL)

    assert said == SAID.get(kind, said)
    assert said[0].isupper()
    assert said.endswith((".", ")."))
    assert room_word(kind=kind) == WORDS[kind]


def test_what_is_not_known_is_said_so():
    room = Room(server="s", kind=RoomKind.IN_USE, need_mib=None, free_mib=None, usable_mib=None)

    assert room_sentence(room=room, model="m") == "It is being unloaded here, and may come back when it is gone."
    assert refused_here(model="m", count=1, sentence="No.") == "1 call for m stood aside. No."
    assert refused_here(model="m", count=2, sentence="No.") == "2 calls for m stood aside. No."
