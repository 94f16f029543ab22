"""The ASGI application: HTTP, WebSocket, and what a web process does when it starts and ends."""

import gc
import logging
import os
import sys
from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db import DatabaseError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.prod")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 - Django must be set up before these are imported
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from kubemoot_web.api.body_limit import BodyLimit  # noqa: E402
from kubemoot_web.api.token_handler import ByToken, TokenHandler  # noqa: E402
from kubemoot_web.gateway.app import Gateway  # noqa: E402
from kubemoot_web.gateway.cross_origin import CrossOrigin  # noqa: E402
from kubemoot_web.gateway.key_in_path import KeyInPath  # noqa: E402
from kubemoot_web.live.routing import websocket_urlpatterns  # noqa: E402
from scheduler import bootstrap  # noqa: E402

log = logging.getLogger(__name__)

GARBAGE_AFTER = 10_000
"""So many objects more, and garbage is looked for. With the language's 700 and a thousand boards that are sent to four
times a second, every call waited 100 ms every few seconds while all that belongs to the sockets was looked through."""

SWITCH_S = 0.0005
"""So soon a thread that works (a page, a query) makes way for the loop. With the language's 5 ms, each call that came
while one did waited for so long, at every turn of the loop."""


async def lifespan(scope: Any, receive: Any, send: Any) -> None:
    """Start the scheduler's runtime before the first request, and let go of it after the last."""
    await receive()  # lifespan.startup
    try:
        await bootstrap.runtime()
        await _configure()
    except Exception as error:  # whatever it is, the server must say it and end instead of serving without a ledger
        await send({"type": "lifespan.startup.failed", "message": f"The ledger cannot be reached: {error}"})
        return
    gc.freeze()  # what is here now stays, and need not be looked through for garbage again and again
    gc.set_threshold(GARBAGE_AFTER)
    sys.setswitchinterval(SWITCH_S)
    await send({"type": "lifespan.startup.complete"})
    await receive()  # lifespan.shutdown
    await bootstrap.close()
    await send({"type": "lifespan.shutdown.complete"})


async def _configure() -> None:
    """Let an empty ledger know the registered servers before anybody calls: without one, nothing could ever be placed,
    and that is what the first calls would hear.
    """
    try:
        await bootstrap.configure()
    except DatabaseError as error:  # pages say so too, and the timer tries again
        log.warning("The registered servers are not known yet: %s", error)


http = ByToken(people=django_application, programs=TokenHandler())
gateway = Gateway(BodyLimit(http, limit=settings.KUBEMOOT.max_body_bytes))
application = ProtocolTypeRouter(
    {
        "lifespan": lifespan,
        "http": CrossOrigin(KeyInPath(gateway), origins=settings.KUBEMOOT.cross_origins),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
