"""The heads of answers: which call it was and where it ran, beside what the dialect and the engine say."""

import re

from kubemoot_web.gateway.dialects import Headers
from providers.core.relaying import Headers as EngineHeaders
from scheduler.services.attempts import Placed

_unfit = re.compile(r"[^\x20-\x7e]")


def placement(*, call: str, request_id: str | None, placed: Placed | None) -> Headers:
    """Say which call this is and, once settled, where it ran. `request_id` None: the engine said its own."""
    headers = [(b"x-kubemoot-call", _value(call))]
    if request_id is not None:
        headers.append((b"x-request-id", _value(request_id)))
    if placed is not None:
        ticket = placed.ticket
        headers += [
            (b"x-kubemoot-model", _value(ticket.model)),
            (b"x-kubemoot-server", _value(ticket.server)),
            (b"x-kubemoot-action", _value(ticket.action)),
            (b"x-kubemoot-queue-ms", b"%d" % round(placed.waited_s * 1000)),
        ]
    return headers


def passed_down(headers: EngineHeaders) -> Headers:
    """Choose what of an engine's headers its client sees: the engine's name for the call, and what it measured."""
    return [
        (name.encode(), _value(value))
        for name, value in headers
        if name == "x-request-id" or name.startswith("openai-")
    ]


def _value(text: str) -> bytes:
    """Write a value that no name of anything can break a head with."""
    return _unfit.sub("?", text).encode()
