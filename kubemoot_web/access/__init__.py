"""Who asks, and what they may do: the one place that API, pages and live updates ask."""

from kubemoot_web.access.principal import SCOPES, Forbidden, Principal, may, principal_of_user
from kubemoot_web.access.rest import REST_AUTH, AuthedRequest
from kubemoot_web.access.tokens import token_create

__all__ = (
    "REST_AUTH",
    "SCOPES",
    "AuthedRequest",
    "Forbidden",
    "Principal",
    "may",
    "principal_of_user",
    "token_create",
)
