"""Errors in the shape of each dialect: before the answer began, and inside it."""

from kubemoot_web.gateway.dialects import Dialect, Headers


def error_answer(
    dialect: Dialect,
    code: str,
    message: str,
    *,
    param: str | None = None,
    retry_after_s: float | None = None,
    may_retry: bool | None = None,
) -> tuple[int, Headers, bytes]:
    """Make the status, headers and body that tell a client why it gets no answer."""
    raise NotImplementedError


def error_frame(dialect: Dialect, stream: bool, code: str, message: str) -> bytes:
    """Make the bytes that tell a client, after its 200, that the answer has failed."""
    raise NotImplementedError


def engine_refusal(dialect: Dialect, status: int, body: bytes) -> tuple[int, Headers, bytes]:
    """Pass on an engine's own refusal (400 to 499) in the caller's dialect."""
    raise NotImplementedError
