"""API tokens: made, found, and how recently used."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from kubemoot_web.access.principal import SCOPES, Principal
from kubemoot_web.models import ApiToken

SCHEME = "km"
USED_WITHIN = timedelta(minutes=1)  # how exact `last_used_at` is: one write a minute, not one per call


class UnknownScope(ValueError):
    """A scope that does not exist."""

    def __init__(self, scopes: Iterable[str]) -> None:
        super().__init__(f"Unknown scope {', '.join(sorted(scopes))}: write some of {', '.join(SCOPES)}.")


async def token_create(
    *,
    name: str,
    scopes: Iterable[str],
    lifetime: timedelta | None,
    agent: str = "",
    crew: str = "",
    user_id: int | None = None,
) -> str:
    """Make a token and return it, the only time that it can be seen.

    Raises:
        UnknownScope: one of the scopes does not exist.
    """
    wanted = set(scopes)
    if unknown := wanted - set(SCOPES):
        raise UnknownScope(unknown)
    prefix = secrets.token_hex(6)
    token = f"{SCHEME}_{prefix}_{secrets.token_urlsafe(32)}"
    await ApiToken.objects.acreate(
        prefix=prefix,
        digest=_digest(token),
        name=name,
        scopes=[scope for scope in SCOPES if scope in wanted],
        user_id=user_id,
        agent=agent,
        crew=crew,
        expires_at=None if lifetime is None else Now() + lifetime,
    )
    return token


async def principal_of_token(token: str) -> Principal | None:
    """Find whom a token stands for; nobody when it is unknown, expired or its owner was disabled."""
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != SCHEME:
        return None
    living = Q(expires_at=None) | Q(expires_at__gt=Now())
    owned = Q(user=None) | Q(user__is_active=True)
    row = await ApiToken.objects.filter(living, owned, prefix=parts[1]).afirst()
    if row is None or not hmac.compare_digest(row.digest, _digest(token)):
        return None
    unnoted = Q(last_used_at=None) | Q(last_used_at__lt=Now() - USED_WITHIN)
    await ApiToken.objects.filter(unnoted, pk=row.pk).aupdate(last_used_at=Now())
    return Principal(name=row.name, scopes=frozenset(row.scopes), agent=row.agent or None, crew=row.crew or None)


def _digest(token: str) -> str:
    """Hash a token. It is 32 random bytes, so a plain hash cannot be guessed backwards."""
    return hashlib.sha256(token.encode()).hexdigest()
