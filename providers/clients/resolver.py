"""Looks up where the hosts of endpoints lead, beside everything else: nobody ever waits for it.

`getaddrinfo` cannot be ended, and may take half a minute where a name server does not answer. So it has threads of its
own, few of them, that end with the process, and whoever asks is given what is known by now.
"""

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from providers.core.addresses import Address, places_of, read_addresses
from providers.core.endpoint_key import EndpointRefused, parse_endpoint
from providers.core.hosts import Host

EVERY_S = 60.0
"""How long an answer is good; also a failure is one."""
MOST_AT_ONCE = 4
"""So many look-ups may hang; the others stand behind them, and what is known by then stays what is known."""
MOST_KNOWN = 10_000

LookUp = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class _Known:
    """Where a host leads, None where it could not be found out, and when that was answered."""

    places: tuple[str, ...] | None
    at: float


def look_up(host: str) -> Iterable[str]:
    """Ask the system's resolver for the addresses of a name."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def is_own(address: Address) -> bool:
    """Say whether an address is this machine's: only then a socket can be bound to it. Nothing is sent."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


class HostResolver:
    """Remembers where hosts lead, and looks again from time to time when somebody asks."""

    def __init__(
        self,
        *,
        look_up: LookUp = look_up,
        is_own: Callable[[Address], bool] = is_own,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; nothing is looked up before the first question."""
        self._look_up = look_up
        self._is_own = is_own
        self._clock = clock
        self._known: dict[Host, _Known] = {}
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._line: deque[str] = deque()
        self._threads = 0

    def addresses(self, *, endpoint: str) -> tuple[str, ...] | None:
        """Tell where an endpoint's host leads, as far as that is known by now; None where it is not."""
        try:
            host = parse_endpoint(endpoint).host
        except EndpointRefused:
            return None
        known = self._known.get(host)
        if known is None or self._clock() - known.at >= EVERY_S:
            if isinstance(host, str):
                self._ask(host)
            else:
                self._keep(host, (host,))  # an address is its own answer
            known = self._known.get(host)
        return None if known is None else known.places

    def _ask(self, host: str) -> None:
        with self._lock:
            if host in self._asked:
                return
            self._asked.add(host)
            self._line.append(host)
            if self._threads == MOST_AT_ONCE:
                return
            self._threads += 1
        threading.Thread(target=self._work, name="look up hosts", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._line:
                    self._threads -= 1
                    return
                host = self._line.popleft()
            try:
                self._keep(host, read_addresses(self._look_up(host)))
            except (OSError, UnicodeError):
                before = self._known.get(host)  # a name server that is away says nothing about the name
                self._known[host] = _Known(None if before is None else before.places, self._clock())
            with self._lock:
                self._asked.discard(host)

    def _keep(self, host: Host, addresses: tuple[Address, ...]) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        places = places_of(addresses=addresses, own=filter(self._is_own, addresses))
        self._known[host] = _Known(places, self._clock())
