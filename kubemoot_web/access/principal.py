"""A principal is whoever asks, a person or a program, with the scopes it was given."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from scheduler.core.types import Priority

SCOPES = ("read", "call", "write", "admin")
ROLE_SCOPES = {
    "viewer": frozenset({"read"}),
    "operator": frozenset({"read", "call", "write"}),
    "admin": frozenset(SCOPES),
}


class Forbidden(Exception):
    """The principal is known, but may not do this."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whoever asks. `agent` or `crew` (`namespace/name`) narrow a token to one of them.

    `key` is the public prefix of the token. `crews` and `models` are all that it may call (None: any), `ceiling` the
    highest class of its calls, `max_calls` how many of them may run at once (None: any number).
    """

    name: str
    scopes: frozenset[str]
    agent: str | None = None
    crew: str | None = None
    key: str = ""
    crews: frozenset[str] | None = None
    models: frozenset[str] | None = None
    ceiling: Priority = Priority.INTERACTIVE
    max_calls: int | None = None

    def require(self, *scopes: str) -> None:
        """Let pass who has the scope, or one of several.

        Raises:
            Forbidden: the scope is missing.
        """
        if self.scopes.isdisjoint(scopes):
            needed = " or ".join(map(repr, scopes))
            raise Forbidden(
                f"{self.name} may {', '.join(sorted(self.scopes)) or 'do nothing'}; this needs the scope {needed}."
            )

    def require_agent(self, *, agent: str, crew: str | None) -> None:
        """Let pass who may speak for the agent: a token of that agent, of its crew, or one bound to neither.

        Raises:
            Forbidden: the token belongs to somebody else.
        """
        if self.agent is not None and self.agent != agent:
            raise Forbidden(f"{self.name} belongs to the agent {self.agent} and cannot speak for {agent}.")
        if self.crew is not None and self.crew != crew:
            raise Forbidden(f"{self.name} belongs to the crew {self.crew} and cannot speak for {agent}.")


async def principal_of_user(user: AbstractBaseUser | AnonymousUser) -> Principal | None:
    """Make the principal of a logged-in person from the roles (groups) they have; nobody for an anonymous one."""
    if not isinstance(user, User) or not user.is_active:
        return None
    roles = {"admin"} if user.is_superuser else {name async for name in user.groups.values_list("name", flat=True)}
    scopes = frozenset[str]().union(ROLE_SCOPES["viewer"], *(ROLE_SCOPES.get(role, frozenset()) for role in roles))
    return Principal(name=user.get_username(), scopes=scopes)


async def may(user: AbstractBaseUser | AnonymousUser, *, scope: str) -> bool:
    """Say whether a logged-in person has a scope."""
    principal = await principal_of_user(user)
    return principal is not None and scope in principal.scopes
