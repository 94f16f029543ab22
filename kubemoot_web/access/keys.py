"""The key of a client that calls through the gateway: where it stands in a request, and whom it is for.

A principal that was found is remembered in this process for `KEPT_S` seconds, so that a call costs no query. A key that
was taken away, or whose owner was, therefore goes on working for so long at most; one that expires ends on time.
"""

import asyncio
import base64
import binascii
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from kubemoot_web.access.principal import Principal
from kubemoot_web.access.tokens import SCHEME, Found, find_token

KEPT_S = 5.0
"""How long what is known of a key is good enough."""
RENEW_S = 3.0
"""What is known for so long and used is looked up again meanwhile: who calls all the time never waits for it."""
MOST_KEPT = 4096
"""So many keys that were found are remembered, and as many that were not: strangers who guess push nobody out."""
LONGEST = 256
"""No key is longer than this, in characters."""
OURS = f"{SCHEME}_"

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a key, since when and until when; `principal` None: it is nobody's."""

    principal: Principal | None
    since: float
    until: float


class Memory:
    """Remembers for a while whom keys are for, by a hash of each. `now` is any clock that only goes forward."""

    def __init__(self, *, kept_s: float, most: int) -> None:
        self._kept_s = kept_s
        self._most = most
        self._found: OrderedDict[bytes, Known] = OrderedDict()
        self._unknown: OrderedDict[bytes, Known] = OrderedDict()

    def __len__(self) -> int:
        """Count the keys that are remembered."""
        return len(self._found) + len(self._unknown)

    def get(self, digest: bytes, *, now: float) -> Known | None:
        """Give what is known of a key; None when it has to be looked up."""
        known = self._found.get(digest) or self._unknown.get(digest)
        return known if known is not None and now < known.until else None

    def put(self, digest: bytes, found: Found | None, *, now: float) -> Known:
        """Remember what a look-up gave, a key that expires no longer than it lives."""
        kept_s = self._kept_s if found is None or found.left_s is None else min(self._kept_s, found.left_s)
        known = Known(principal=None if found is None else found.principal, since=now, until=now + kept_s)
        for kept in (self._found, self._unknown):
            kept.pop(digest, None)
        kept = self._unknown if found is None else self._found
        kept[digest] = known
        if len(kept) > self._most:
            kept.popitem(last=False)
        return known


class Desk:
    """Looks keys up for one event loop, each once at a time, however many calls come with it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._memory = Memory(kept_s=KEPT_S, most=MOST_KEPT)
        self._asking: dict[bytes, asyncio.Task[Known]] = {}

    async def principal(self, presented: str) -> Principal | None:
        """Find whom a key is for."""
        digest = hashlib.sha256(presented.encode()).digest()
        now = self._now()
        known = self._memory.get(digest, now=now)
        if known is None:
            asking = self._asking.get(digest) or self._begin(digest, presented)
            known = await asyncio.shield(asking)  # a client that leaves must not end the look-up of the others
        elif now - known.since >= RENEW_S and known.principal is not None and digest not in self._asking:
            self._begin(digest, presented)
        return known.principal

    def _begin(self, digest: bytes, presented: str) -> "asyncio.Task[Known]":
        asking = self._asking[digest] = asyncio.create_task(self._ask(digest, presented))
        asking.add_done_callback(lambda done: self._ended(digest, done))
        return asking

    def _ended(self, digest: bytes, asking: "asyncio.Task[Known]") -> None:
        del self._asking[digest]
        if not asking.cancelled():
            asking.exception()  # nobody may be waiting for it

    async def _ask(self, digest: bytes, presented: str) -> Known:
        asked_at = self._now()  # a slow answer is as old as its question
        return self._memory.put(digest, await find_token(presented), now=asked_at)


_desks: WeakKeyDictionary[asyncio.AbstractEventLoop, Desk] = WeakKeyDictionary()


async def key_principal(presented: str) -> Principal | None:
    """Find whom a key stands for; nobody when it is unknown, expired, taken away, or its owner was disabled."""
    if not presented.startswith(OURS) or len(presented) > LONGEST:
        return None
    loop = asyncio.get_running_loop()
    desk = _desks.get(loop)
    if desk is None:
        desk = _desks[loop] = Desk()
    return await desk.principal(presented)


def presented_key(headers: Headers) -> str | None:
    """Read the key that a request presents, in any of the ways that clients have.

    1. `Authorization: Bearer KEY`, and `Authorization: Basic` with the key as user or as password.
    2. `x-api-key: KEY`.
    3. Of several, one that looks like ours: clients send "ollama" and the like where somebody left a field as it was.
    """
    presented = [key for name, value in headers for key in _keys_of(name.lower(), value.strip())]
    return next((key for key in presented if key.startswith(OURS)), presented[0] if presented else None)


def _keys_of(name: bytes, value: bytes) -> list[str]:
    match name:
        case b"x-api-key":
            keys = [value.decode("latin-1")]
        case b"authorization":
            scheme, _, rest = value.partition(b" ")
            keys = _credentials(scheme.lower(), rest.strip())
        case _:
            keys = []
    return [key for key in keys if key]


def _credentials(scheme: bytes, rest: bytes) -> list[str]:
    if scheme == b"bearer":
        return [rest.decode("latin-1")]
    if scheme != b"basic":
        return []
    try:
        user, _, password = base64.b64decode(rest, validate=True).decode("latin-1").partition(":")
    except binascii.Error:
        return []
    return [password, user]
