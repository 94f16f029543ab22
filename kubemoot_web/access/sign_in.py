"""Signing in: one-time links, and the brake on guessing passwords.

Both live in the cache (Redis), whose entries end by themselves: no clock is read here.
"""

import secrets

from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache

LINK_SALT = "kubemoot.login-link"
LINK_LIFETIME_S = 15 * 60
FREE_GUESSES = 4
LONGEST_PAUSE_S = 15 * 60
MEMORY_S = 60 * 60


def login_link_token(*, user: User) -> str:
    """Make the signed part of a one-time login link."""
    return signing.dumps({"user": user.pk, "once": secrets.token_urlsafe(16)}, salt=LINK_SALT)


def login_link_user(*, token: str) -> User | None:
    """Use a login link up and say whom it logs in; nobody when it is forged, too old or was used before."""
    try:
        content = signing.loads(token, salt=LINK_SALT, max_age=LINK_LIFETIME_S)
    except signing.BadSignature:
        return None
    if not cache.add(f"login-link:{content['once']}", True, timeout=LINK_LIFETIME_S + 60):
        return None
    return User.objects.filter(pk=content["user"], is_active=True).first()


def must_pause(*, account: str, address: str) -> bool:
    """Say whether this account is closed for this address right now."""
    return cache.get(f"login-pause:{_who(account=account, address=address)}") is not None


def wrong_password(*, account: str, address: str) -> int:
    """Note a failed attempt; return the seconds for which the next one is refused (doubling, after a few free ones)."""
    who = _who(account=account, address=address)
    cache.add(f"login-failures:{who}", 0, timeout=MEMORY_S)
    failures = int(cache.incr(f"login-failures:{who}"))
    if failures < FREE_GUESSES:
        return 0
    pause: int = min(2 ** (failures - FREE_GUESSES + 1), LONGEST_PAUSE_S)
    cache.set(f"login-pause:{who}", True, timeout=pause)
    return pause


def right_password(*, account: str, address: str) -> None:
    """Forget the failed attempts."""
    cache.delete(f"login-failures:{_who(account=account, address=address)}")


def _who(*, account: str, address: str) -> str:
    """Name an account at an address as a cache key that no input can break."""
    return f"{account.strip().casefold().encode().hex()[:120]}@{address}"
