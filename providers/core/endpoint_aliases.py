"""Identities of endpoints that an operator said are one: `alias -> canonical`, never further.

House rules: an alias is nobody's canonical, a canonical is nobody's alias; so there are no chains and no cycles. No two
registered servers are one endpoint, with the aliases counted.
"""

from collections.abc import Mapping


class AliasRefused(ValueError):
    """Two identities that cannot be made one: `field` is the one that stands in the way."""

    def __init__(self, *, field: str, message: str) -> None:
        super().__init__(f"{field} {message}.")
        self.field = field
        self.message = message

    @property
    def details(self) -> list[dict[str, str]]:
        """Give the field and what is wrong with it, for programs."""
        return [{"field": self.field, "message": self.message}]


class AliasUnreadable(AliasRefused):
    """What was written is no address."""


class AliasUnknown(LookupError):
    """There is no such alias."""

    def __init__(self, alias: str) -> None:
        super().__init__(f"{alias} is no alias. GET /api/v1/aliases lists them.")


def canonical_key(*, key: str, aliases: Mapping[str, str]) -> str:
    """Give the identity that a key stands for."""
    return aliases.get(key, key)


def check_alias(
    *, alias: str, canonical: str, aliases: Mapping[str, str], servers: Mapping[str, str]
) -> Mapping[str, str]:
    """Give the aliases with one more. `servers` maps registered servers to their keys.

    Raises:
        AliasRefused: it would lead to itself or on to another one, or two registered servers would be one.
    """
    if alias == canonical:
        raise AliasRefused(field="alias", message="is the same endpoint already, however it is spelled")
    known = aliases.get(alias)
    if known is not None and known != canonical:
        raise AliasRefused(field="alias", message=f"leads to {known} already: remove that alias first")
    if canonical in aliases:
        further = aliases[canonical]
        raise AliasRefused(field="canonical", message=f"is an alias itself, of {further}: name that one instead")
    leading = sorted(other for other, to in aliases.items() if to == alias)
    if leading:
        raise AliasRefused(field="alias", message=f"is what {leading[0]} leads to: remove that alias first")
    merged = {**aliases, alias: canonical}
    one = sorted(name for name, key in servers.items() if canonical_key(key=key, aliases=merged) == canonical)
    if len(one) > 1:
        raise AliasRefused(
            field="alias",
            message=f"would make {one[0]} and {one[1]} one server, and both are registered: merge one of them into the "
            f"other, or delete one of them first",
        )
    return merged


def merged_aliases(*, alias: str, canonical: str, aliases: Mapping[str, str]) -> dict[str, str]:
    """Give the aliases after one endpoint became another: with whatever led to it."""
    target = canonical_key(key=canonical, aliases=aliases)
    own = canonical_key(key=alias, aliases=aliases)
    moved = {other: target if to == own else to for other, to in aliases.items()}
    return {key: to for key, to in {**moved, own: target, alias: target}.items() if key != to}
