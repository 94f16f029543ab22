"""How much of clients' bodies this process holds at a time.

A body is kept while its call waits for a place and for the first byte of an answer, for it may have to be sent again.
In a long line of calls with pictures, each within its own limit, all together would fill the memory.
"""


class NoRoom(Exception):
    """Others' bodies leave no room for this one now."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"The bodies of other calls that wait fill the {limit} bytes that KUBEMOOT_GATEWAY_MAX_HELD_BYTES allows. "
            "Try again soon."
        )


class Rooms:
    """What a process has room for, shared by all its calls."""

    def __init__(self, *, limit: int) -> None:
        """Nothing is held yet. `limit` is in bytes."""
        self.limit = limit
        self.held = 0


class Room:
    """What one call's body takes of it."""

    __slots__ = ("_rooms", "_taken")

    def __init__(self, rooms: Rooms) -> None:
        """Nothing is taken yet."""
        self._rooms = rooms
        self._taken = 0

    def check(self, count: int) -> None:
        """See that there is room for so many bytes now, and take nothing.

        Raises:
            NoRoom: there is none.
        """
        if self._rooms.held + count > self._rooms.limit:
            raise NoRoom(limit=self._rooms.limit)

    def take(self, count: int) -> None:
        """Take room for so many bytes more.

        Raises:
            NoRoom: there is none. What was taken before stays taken.
        """
        self.check(count)
        self._rooms.held += count
        self._taken += count

    def give_back(self) -> None:
        """Give back all that was taken; a second time does nothing."""
        self._rooms.held -= self._taken
        self._taken = 0
