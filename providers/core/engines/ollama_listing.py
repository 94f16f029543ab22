"""Ollama's two lists: what is in memory (`/api/ps`) and what is on disk (`/api/tags`)."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from providers.core.engines.json_reading import JsonObject, Nonsense
from providers.core.model_names import normalise
from providers.core.types import AvailableModel, EngineKind, LoadedCopy
from providers.core.units import mib_from_bytes

# A model that is kept for ever is listed with an expiry some 292 years ahead.
NEVER_AFTER_S = 10 * 365 * 24 * 3600.0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6})\d*)?\s*(?:[Zz]|([+-])(\d\d):?(\d\d))", re.ASCII
)


def parse_loaded(body: JsonObject, *, now: float) -> tuple[LoadedCopy, ...]:
    """Read the models in memory, each once.

    Raises:
        Nonsense: a field that matters has the wrong type.
    """
    copies: dict[str, LoadedCopy] = {}
    for entry in _models(body):
        copy = _loaded_copy(entry, now=now)
        known = copies.get(copy.model)
        if known is None or (known.footprint_mib or 0) < (copy.footprint_mib or 0):
            copies[copy.model] = copy
    return tuple(copies.values())


def parse_available(body: JsonObject) -> tuple[AvailableModel, ...]:
    """Read the models on disk; those that really run in somebody's cloud are left out, they take no memory here.

    Raises:
        Nonsense: a field that matters has the wrong type.
    """
    found: dict[str, AvailableModel] = {}
    for entry in _models(body):
        if _is_remote(entry):
            continue
        size = entry.whole("size")
        model = AvailableModel(
            model=_name(entry),
            size_mib=None if size is None else mib_from_bytes(size),
            digest=_digest(entry),
        )
        found.setdefault(model.model, model)
    return tuple(found.values())


def with_aliases(loaded: Iterable[LoadedCopy], available: Iterable[AvailableModel] | None) -> tuple[LoadedCopy, ...]:
    """Give each copy the other names of its weights: the engine lists it under the one name it was loaded by."""
    names: dict[str, list[str]] = {}
    for model in available or ():
        if model.digest is not None:
            names.setdefault(model.digest, []).append(model.model)
    return tuple(
        replace(copy, aliases=tuple(sorted(name for name in names.get(copy.digest or "", ()) if name != copy.model)))
        for copy in loaded
    )


def parse_expiry(text: str, *, now: float) -> float | None:
    """Read a date of the wire as Unix seconds; None for a copy that is kept for ever, and for a date nobody can read.

    Nanoseconds, offsets, years far ahead and the year 1 (a copy that has no expiry yet) all occur.
    """
    match = DATE.fullmatch(text.strip())
    if match is None:
        return None
    *moment, fraction, sign, hours, minutes = match.groups()
    try:
        at = datetime(*(int(part) for part in moment), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    seconds = (at - EPOCH).total_seconds() + int((fraction or "0").ljust(6, "0")) / 1_000_000
    if sign:
        offset = timedelta(hours=int(hours), minutes=int(minutes)).total_seconds()
        seconds += offset if sign == "-" else -offset
    return seconds if 0 < seconds < now + NEVER_AFTER_S else None


def _models(body: JsonObject) -> tuple[JsonObject, ...]:
    """Read the list; null stands for an empty one, but an object without it is somebody else's."""
    if not body.contains("models"):
        raise Nonsense('an object without "models"')
    return body.objects("models") or ()


def _loaded_copy(entry: JsonObject, *, now: float) -> LoadedCopy:
    total = entry.whole("size")
    on_accelerator = entry.whole("size_vram") or 0  # left out by older servers when a model runs on the CPU alone
    host = max((total or 0) - on_accelerator, 0)
    expires = entry.text("expires_at")
    return LoadedCopy(
        model=_name(entry),
        footprint_mib=mib_from_bytes(on_accelerator),
        host_mib=mib_from_bytes(host),
        digest=_digest(entry),
        context_length=entry.whole("context_length") or None,
        expires_at=None if expires is None else parse_expiry(expires, now=now),
    )


def _name(entry: JsonObject) -> str:
    name = (entry.text("name") or entry.text("model") or "").strip()
    if not name:
        raise Nonsense("a model without a name")
    return normalise(kind=EngineKind.OLLAMA, name=name)


def _digest(entry: JsonObject) -> str | None:
    """Read a digest; both lists may spell it with or without its algorithm."""
    digest = entry.text("digest")
    return digest.removeprefix("sha256:") if digest else None


def _is_remote(entry: JsonObject) -> bool:
    return bool(entry.text("remote_model") or entry.text("remote_host"))
