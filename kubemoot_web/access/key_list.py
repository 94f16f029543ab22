"""Keys as people look at them: which there are, and taking one away.

Everybody sees and takes away their own. Whoever may change resources sees and takes away all: a key that leaked must
not wait for its owner.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from kubemoot_web.access.principal import Principal
from kubemoot_web.models import ApiToken

MANAGES = "write"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key without its secret. Times are Unix seconds; `owner` is the person's name, empty where it is nobody's."""

    prefix: str
    name: str
    scopes: tuple[str, ...]
    owner: str
    agent: str
    crew: str
    crews: tuple[str, ...]
    models: tuple[str, ...]
    ceiling: str
    max_calls: int | None
    last_used_at: float | None
    expires_at: float | None


def keys_seen(*, principal: Principal, user_id: int) -> tuple[Key, ...]:
    """List the keys that a person may see, by name."""
    return tuple(_key(row) for row in _rows(principal, user_id).select_related("user"))


def key_revoke(*, prefix: str, principal: Principal, user_id: int) -> str | None:
    """Take a key away and give its name; None where there is none that this person may take away."""
    row = _rows(principal, user_id).filter(prefix=prefix).first()
    if row is None:
        return None
    row.delete()
    log.info("key revoked: %s %r, by %r", row.prefix, row.name, principal.name)
    return row.name


def key_names(*, prefixes: Iterable[str]) -> Mapping[str, str]:
    """Give the names of keys by their prefixes; of one that was revoked nothing is known.

    Whoever may look at calls may read them: a call that names no agent goes by the name of its key.
    """
    wanted = set(prefixes) - {""}
    return dict(ApiToken.objects.filter(prefix__in=wanted).values_list("prefix", "name")) if wanted else {}


def _rows(principal: Principal, user_id: int) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(Q() if MANAGES in principal.scopes else Q(user=user_id))


def _key(row: ApiToken) -> Key:
    return Key(
        prefix=row.prefix,
        name=row.name,
        scopes=tuple(row.scopes),
        owner="" if row.user is None else row.user.get_username(),
        agent=row.agent,
        crew=row.crew,
        crews=tuple(row.allowed_crews),
        models=tuple(row.allowed_models),
        ceiling=row.ceiling,
        max_calls=row.max_calls,
        last_used_at=_seconds(row.last_used_at),
        expires_at=_seconds(row.expires_at),
    )


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
