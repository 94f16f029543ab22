"""What the services here need from the outside, as protocols. Drivers implement them; bootstrap joins the two."""

from collections.abc import Callable
from typing import Protocol

from providers.core.engines.base import HttpCall, HttpReply
from providers.core.relaying import RelayAnswer, RelayRequest


class EngineApi(Protocol):
    """The door to engines: sends a call, brings the reply, decides nothing."""

    async def send(self, *, endpoint: str, call: HttpCall) -> HttpReply:
        """Send one call and wait for its whole reply; trouble is a reply too. Cancelling closes the connection."""

    async def close(self) -> None:
        """End all connections."""


class EngineRelay(Protocol):
    """The door to engines for the calls of clients: bytes there, bytes back, piece by piece."""

    async def open(
        self, *, endpoint: str, request: RelayRequest, on_sent: Callable[[], None] | None = None
    ) -> RelayAnswer:
        """Send a request and wait for the head of its answer. Cancelling closes the connection.

        `on_sent` is told when the request goes out: from then on the engine may be at work on it.

        Raises:
            RelayFailed: there is no answer.
        """
        ...

    async def close(self) -> None:
        """End all connections."""


class Resolver(Protocol):
    """Who knows where endpoints lead. Asking costs nothing and waits for nobody."""

    def addresses(self, *, endpoint: str) -> tuple[str, ...] | None:
        """Tell where an endpoint's host leads, as far as that is known by now; None where it is not.

        Addresses as they stand in a URL, and `localhost` where one is the asking machine's own.
        """
        ...


class LoadReport(Protocol):
    """Who wants to know how a load goes on."""

    async def victim_gone(self, *, model: str) -> None:
        """Take note that the engine confirmed an unload: its memory may be counted as free from now on."""
