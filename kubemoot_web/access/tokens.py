"""API tokens: made, found, and how recently used."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import DurationField, ExpressionWrapper, F, Q
from django.db.models.functions import Now

from kubemoot_web.access.principal import SCOPES, Principal, principal_of_user
from kubemoot_web.models import ApiToken
from providers.core.model_names import normalise
from providers.core.naming import agent_name, split_agent_name
from providers.core.types import EngineKind
from scheduler.core.types import Priority

SCHEME = "km"
USED_WITHIN = timedelta(minutes=1)  # how exact `last_used_at` is: one write a minute, not one per call
log = logging.getLogger(__name__)


class UnknownScope(ValueError):
    """A scope that does not exist."""

    def __init__(self, scopes: Iterable[str]) -> None:
        super().__init__(f"Unknown scope {', '.join(sorted(scopes))}: write some of {', '.join(SCOPES)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Whom a token stands for, and how long it lives on; `left_s` None: it never ends."""

    principal: Principal
    left_s: float | None


async def token_create(
    *,
    name: str,
    scopes: Iterable[str],
    lifetime: timedelta | None,
    agent: str = "",
    crew: str = "",
    user_id: int | None = None,
    crews: Iterable[str] = (),
    models: Iterable[str] = (),
    ceiling: Priority = Priority.INTERACTIVE,
    max_calls: int | None = None,
) -> str:
    """Make a token and return it, the only time that it can be seen.

    `crews` (a bare name is one of the default namespace) and `models` are all that it may call; empty means any.

    Raises:
        UnknownScope: one of the scopes does not exist.
    """
    wanted = set(scopes)
    if unknown := wanted - set(SCOPES):
        raise UnknownScope(unknown)
    prefix = secrets.token_hex(6)
    token = f"{SCHEME}_{prefix}_{secrets.token_urlsafe(32)}"
    row = await ApiToken.objects.acreate(
        prefix=prefix,
        digest=_digest(token),
        name=name,
        scopes=[scope for scope in SCOPES if scope in wanted],
        user_id=user_id,
        agent=agent,
        crew=crew,
        allowed_crews=sorted({full_name(each) for each in crews}),
        allowed_models=sorted({normalise(kind=EngineKind.OLLAMA, name=each) for each in models}),
        ceiling=ceiling.value,
        max_calls=max_calls,
        expires_at=None if lifetime is None else Now() + lifetime,
    )
    log.info("key made: %s %r, user %s, scopes %s", prefix, name, user_id, ",".join(row.scopes))
    return token


async def principal_of_token(token: str) -> Principal | None:
    """Find whom a token stands for; nobody when it is unknown, expired or its owner was disabled."""
    found = await find_token(token)
    return None if found is None else found.principal


async def find_token(token: str) -> Found | None:
    """Find whom a token stands for, and for how long; nobody when it is unknown, expired or its owner was disabled.

    A person's token may do no more than the person may now, whatever it was made for.
    """
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != SCHEME:
        return None
    living = Q(expires_at=None) | Q(expires_at__gt=Now())
    left = ExpressionWrapper(F("expires_at") - Now(), output_field=DurationField())
    row = await ApiToken.objects.filter(living, prefix=parts[1]).select_related("user").annotate(left=left).afirst()
    if row is None or not hmac.compare_digest(row.digest, _digest(token)):
        return None
    scopes = frozenset(row.scopes)
    if row.user is not None:
        owner = await principal_of_user(row.user)
        if owner is None:
            return None
        scopes &= owner.scopes
    unnoted = Q(last_used_at=None) | Q(last_used_at__lt=Now() - USED_WITHIN)
    await ApiToken.objects.filter(unnoted, pk=row.pk).aupdate(last_used_at=Now())
    principal = Principal(
        name=row.name,
        scopes=scopes,
        agent=row.agent or None,
        crew=row.crew or None,
        key=row.prefix,
        crews=frozenset(row.allowed_crews) or None,
        models=frozenset(row.allowed_models) or None,
        ceiling=Priority(row.ceiling),
        max_calls=row.max_calls,
    )
    return Found(principal=principal, left_s=None if row.left is None else row.left.total_seconds())


def full_name(name: str) -> str:
    """Give the full name of an agent or a crew; a bare one means the default namespace."""
    namespace, bare = split_agent_name(name)
    return agent_name(namespace=namespace, name=bare)


def _digest(token: str) -> str:
    """Hash a token. It is 32 random bytes, so a plain hash cannot be guessed backwards."""
    return hashlib.sha256(token.encode()).hexdigest()
