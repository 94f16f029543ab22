"""Moments, written for programs and for people. Everything is UTC; the browser tells how long ago it was."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment: exact for programs, short for people."""

    iso: str
    words: str


def rfc3339(at: float | None) -> str | None:
    """Write a Unix time as RFC 3339 in UTC."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(at: float | None) -> Moment | None:
    """Make the moment of a Unix time; none where it is not known (the ledger writes 0 for that)."""
    if not at:
        return None
    exact = datetime.fromtimestamp(at, tz=UTC)
    return Moment(iso=exact.isoformat(timespec="seconds").replace("+00:00", "Z"), words=exact.strftime("%H:%M:%S UTC"))


def dated(at: float | None) -> Moment | None:
    """Make the moment of a Unix time that may be days away; none where it is not known."""
    if not at:
        return None
    exact = datetime.fromtimestamp(at, tz=UTC)
    return Moment(iso=exact.isoformat(timespec="seconds").replace("+00:00", "Z"), words=exact.strftime("%-d %b %Y"))


def to_the_second(at: float) -> Moment | None:
    """Make the moment of an estimate: the nearest second, so that it stands still while nothing changes."""
    return moment(round(at))
