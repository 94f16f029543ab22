"""Sentences about room: what a server says to a model, with the numbers."""

from scheduler.core.messages.wording import listed, size
from scheduler.core.rooms import Room, RoomKind

WORDS = {
    RoomKind.RESIDENT: "in memory",
    RoomKind.LOADING: "loading",
    RoomKind.FREE: "fits now",
    RoomKind.AFTER_UNLOAD: "fits after unloading",
    RoomKind.IN_USE: "in use by others",
    RoomKind.DRAINING: "kept for another",
    RoomKind.RESTS: "rests after a failed load",
    RoomKind.CLOSED: "not ready",
    RoomKind.SIZE_UNKNOWN: "size unknown",
    RoomKind.MEMORY_UNKNOWN: "memory unknown",
    RoomKind.NOT_ON_DISK: "not on disk",
    RoomKind.TOO_LARGE: "never fits",
    RoomKind.BOUND_ELSEWHERE: "bound elsewhere",
    RoomKind.CANNOT_LOAD: "does not load",
}


SENTENCES = {
    RoomKind.RESIDENT: "It is loaded here and takes {need}.",
    RoomKind.LOADING: "It is on its way into memory and takes {need}.",
    RoomKind.FREE: "It needs {need}, and {free} is free.",
    RoomKind.AFTER_UNLOAD: "It needs {need}, {free} is free, and {unloads} may go for it.",
    RoomKind.IN_USE: "It needs {need}, {free} is free, and {unloads} cannot go now.",
    RoomKind.DRAINING: "The server is being emptied for somebody who waits for another model.",
    RoomKind.RESTS: "Its last load here failed; it is tried again after a rest.",
    RoomKind.CLOSED: "The server takes no calls now. It could hold it.",
    RoomKind.SIZE_UNKNOWN: "A size is not known: set vramMib of the Model of {model}, or of what is loaded here.",
    RoomKind.MEMORY_UNKNOWN: "The server's memory is not known: set scheduling.memoryMiB.",
    RoomKind.NOT_ON_DISK: "The server does not have it on disk: pull {model} there.",
    RoomKind.TOO_LARGE: "It needs {need}, and models may use {usable} here, however empty it is.",
    RoomKind.BOUND_ELSEWHERE: "Its Model objects name other servers (serverRef).",
    RoomKind.CANNOT_LOAD: "This kind of server serves what it was started with, and loads nothing else.",
}
COMES_BACK = "It is being unloaded here, and may come back when it is gone."


def room_word(*, kind: RoomKind) -> str:
    """Say in a few words what a server says to a model."""
    return WORDS[kind]


def room_sentence(*, room: Room, model: str) -> str:
    """Say what a server says to a model, and with which numbers."""
    if room.kind is RoomKind.IN_USE and not room.unloads:
        return COMES_BACK
    return SENTENCES[room.kind].format(
        model=model,
        need="memory nobody knows" if room.need_mib is None else size(room.need_mib),
        free="an unknown amount" if room.free_mib is None else size(max(room.free_mib, 0)),
        usable="an unknown amount" if room.usable_mib is None else size(room.usable_mib),
        unloads=listed(room.unloads),
    )


def refused_here(*, model: str, count: int, sentence: str) -> str:
    """Say why calls that stood aside got no place on a server, in the server's words of now."""
    calls = "1 call" if count == 1 else f"{count} calls"
    return f"{calls} for {model} stood aside. {sentence}"
