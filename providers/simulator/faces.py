"""What the HTTP face of a simulated engine is to the application behind the port."""

from typing import Any, Protocol

from providers.simulator.sending import Reply


class Face(Protocol):
    """The paths and forms of one kind of server. The machine behind it is the same for all kinds."""

    async def answer(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer one request.

        Raises:
            WireError: the request is to be answered with an error.
            QueueFull: so is this one, for too many wait.
            NotLoaded: so is this one, for its model is not in memory.
            LoadBroke: so is this one, for its model could not be loaded.
            Cut: the connection is to be broken.
        """
        ...

    def error(self, path: str, status: int, text: str) -> dict[str, Any]:
        """Write an error in the dialect of the path."""
        ...

    async def close(self) -> None:
        """End what goes on in the background."""
        ...
