"""How a REST request proves who sent it: a bearer token, or the session of a logged-in person."""

from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from kubemoot_web.access.principal import Forbidden, Principal, principal_of_user
from kubemoot_web.access.tokens import principal_of_token


class AuthedRequest(HttpRequest):
    """A request after authentication."""

    auth: Principal


class TokenAuth(HttpBearer):
    """`Authorization: Bearer <token>`."""

    is_async = True

    async def authenticate(self, request: HttpRequest, token: str) -> Principal | None:  # noqa: ARG002 - ninja's hook
        """Find whom the token stands for."""
        return await principal_of_token(token.strip())


class SessionAuth(APIKeyCookie):
    """The browser's session. Whatever changes something must also carry the CSRF token."""

    param_name = "sessionid"
    is_async = True

    async def __call__(self, request: HttpRequest) -> Principal | None:
        """Find the logged-in person.

        The CSRF check comes after it, so that a program without a token hears "unauthorised" and not "CSRF".
        """
        return await self.authenticate(request, self._get_key(request))

    def _get_key(self, request: HttpRequest) -> str | None:
        """Read the session cookie."""
        return request.COOKIES.get(self.param_name)

    async def authenticate(self, request: HttpRequest, key: str | None) -> Principal | None:
        """Find the logged-in person and check the CSRF token."""
        principal = await principal_of_user(await request.auser()) if key else None
        if principal is not None and check_csrf(request) is not None:
            raise Forbidden("The CSRF token is missing or wrong: reload the page, or send a bearer token instead.")
        return principal


REST_AUTH = (TokenAuth(), SessionAuth())
