"""Endpoints that an operator knows to be one: aliases added and removed, one server merged into another.

House rules: every change is checked in one transaction with whatever is registered; a merge removes a server only once
nothing runs there and nothing new can come.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from asgiref.sync import sync_to_async
from django.db import transaction

from providers import queries as providers
from providers.core.endpoint_aliases import (
    AliasUnknown,
    AliasUnreadable,
    canonical_key,
    check_alias,
    merged_aliases,
)
from providers.core.endpoint_key import EndpointRefused, read_key
from providers.core.naming import bound_server, server_name, split_server_name
from providers.models import EndpointAlias, Model, ModelServer
from scheduler.core.merging import MergeRefused, check_merge
from scheduler.core.messages.duplicates import models_bound
from scheduler.core.resources import ResourceKey, ResourcesChanged
from scheduler.ports import Ledger, UnknownServer
from scheduler.services.one_writer import one_writer
from scheduler.services.resources import Changed, delete_now

NO_CREDENTIALS = "must not contain a user name or password: an alias is an address alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """An identity that means another one, and the registered server that has it, '' for none."""

    alias: str
    canonical: str
    server: str
    created_at: float


async def aliases_list() -> tuple[Alias, ...]:
    """List all aliases."""
    return await sync_to_async(_list)()


async def alias_add(*, alias: str, canonical: str, node: str, now: float) -> Alias:
    """Make one endpoint mean another one; both as addresses read on a node, or as keys. Again: nothing changes.

    Raises:
        AliasUnreadable: one of them is no address.
        AliasRefused: they cannot be made one.
    """
    keys = {"alias": alias, "canonical": canonical}
    for field, text in keys.items():
        try:
            keys[field] = read_key(text=text, node=node)
        except EndpointRefused as error:
            message = NO_CREDENTIALS if error.reason == "credentials" else error.message
            raise AliasUnreadable(field=field, message=message) from None
    return await sync_to_async(_add)(alias=keys["alias"], canonical=keys["canonical"], now=now)


async def server_alias_add(*, server: str, alias: str, node: str, now: float) -> Alias:
    """Make an address mean a registered server.

    Raises:
        UnknownServer: there is no such server.
        AliasUnreadable: it is no address.
        AliasRefused: it cannot mean this server.
    """
    own = (await sync_to_async(providers.endpoint_keys)(servers=[server])).get(server)
    if own is None:
        raise UnknownServer(server)
    return await alias_add(alias=alias, canonical=own, node=node, now=now)


async def alias_remove(*, alias: str, node: str) -> str:
    """Let an endpoint stand for itself again, and give its key.

    Raises:
        AliasUnknown: it is no alias.
    """
    try:
        key = read_key(text=alias, node=node)
    except EndpointRefused:
        raise AliasUnknown("This") from None  # what is no address may be a password: it is not repeated
    removed, _ = await EndpointAlias.objects.filter(alias_key=key).adelete()
    if not removed:
        raise AliasUnknown(key)
    return key


async def endpoint_merge(*, ledger: Ledger, server: str, into: str, now: float, changed: Changed) -> None:
    """Remove a server that is another one under a second name, and let its address mean that one from now on.

    Raises:
        UnknownServer: one of them is not registered.
        MergeRefused: it takes calls, something runs on it, or a model is bound to it.
    """
    await ledger.catch_up()
    for name in (server, into):
        if name not in ledger.replica.servers:
            raise UnknownServer(name)
    check_merge(replica=ledger.replica, server=server, into=into, now=now)
    key = await sync_to_async(_merge)(server=server, into=into, now=now)
    await changed(ResourcesChanged(deleted=(key,)))


def _list() -> tuple[Alias, ...]:
    known = providers.endpoint_aliases()
    owners = {canonical_key(key=key, aliases=known): server for server, key in _keys().items()}
    return tuple(_alias(row, owners) for row in EndpointAlias.objects.all())


def _add(*, alias: str, canonical: str, now: float) -> Alias:
    with transaction.atomic():
        one_writer()
        known, servers = providers.endpoint_aliases(), _keys()
        merged = check_alias(alias=alias, canonical=canonical, aliases=known, servers=servers)
        row, _ = EndpointAlias.objects.get_or_create(
            alias_key=alias, defaults={"canonical_key": canonical, "created_at": _time(now)}
        )
    return _alias(row, {canonical_key(key=key, aliases=merged): server for server, key in servers.items()})


def _merge(*, server: str, into: str, now: float) -> ResourceKey:
    with transaction.atomic():
        one_writer()
        servers = _keys()
        for name in (server, into):
            if name not in servers:
                raise UnknownServer(name)
        bound = sorted(
            f"{model.namespace}/{model.name}"
            for model in Model.objects.all()
            if bound_server(namespace=model.namespace, reference=model.spec.get("serverRef")) == server
        )
        if bound:
            raise MergeRefused(models_bound(server=server, into=into, models=bound))
        namespace, name = split_server_name(server)
        key = ResourceKey(kind="ModelServer", namespace=namespace, name=name)
        delete_now(key=key, now=now)
        wanted = merged_aliases(alias=servers[server], canonical=servers[into], aliases=providers.endpoint_aliases())
        for alias, canonical in wanted.items():
            EndpointAlias.objects.update_or_create(
                alias_key=alias,
                defaults={"canonical_key": canonical},
                create_defaults={"canonical_key": canonical, "created_at": _time(now)},
            )
    return key


def _keys() -> dict[str, str]:
    """Map the registered servers to the keys of their endpoints."""
    rows = ModelServer.objects.exclude(endpoint_key=None).values_list("namespace", "name", "endpoint_key")
    return {server_name(namespace=namespace, name=name): str(key) for namespace, name, key in rows}


def _alias(row: EndpointAlias, owners: Mapping[str, str]) -> Alias:
    return Alias(
        alias=row.alias_key,
        canonical=row.canonical_key,
        server=owners.get(row.canonical_key, ""),
        created_at=row.created_at.timestamp(),
    )


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, tz=UTC)
