"""Who is behind a WebSocket: the session of the page that opened it, read afresh each time."""

from importlib import import_module
from typing import Any

from channels.auth import get_user
from django.conf import settings

from kubemoot_web.access.principal import Principal, principal_of_user


async def principal_of_socket(scope: dict[str, Any]) -> Principal | None:
    """Find whose session a socket carries; nobody where it has none, or where it has ended since.

    What the scope holds was read when the socket opened; a sign-out meanwhile is only in the store.
    """
    key = scope["session"].session_key
    if key is None:
        return None
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return await principal_of_user(await get_user({"session": session}))
