"""What else leads to an endpoint: other addresses of it, and servers that are it under a second name."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from django import forms
from django.conf import settings
from django.contrib import messages as notices
from django.http import Http404, HttpRequest

from kubemoot_web.access import Principal
from kubemoot_web.access.operating import told
from kubemoot_web.board.ids import natural
from providers.core.endpoint_aliases import AliasRefused, AliasUnknown
from scheduler import bootstrap
from scheduler.core.duplicates import duplicates_with
from scheduler.core.merging import MergeRefused
from scheduler.core.messages.duplicates import alias_added, alias_removed, was_merged
from scheduler.core.messages.missing import no_server
from scheduler.ports import UnknownServer
from scheduler.services.endpoint_aliases import Alias, alias_remove, aliases_list, endpoint_merge, server_alias_add


class Do(StrEnum):
    """What the buttons of the card do."""

    ADD = "add-address"
    REMOVE = "remove-address"
    MERGE = "merge"


class AddressForm(forms.Form):
    """Another address of an endpoint."""

    address = forms.CharField(
        label="Another address of it",
        max_length=2048,
        help_text="Such as https://gpu-1. Nobody can register it as a second server from then on.",
        error_messages={"required": "Write the address."},
        widget=forms.TextInput(attrs={"inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}),
    )


class MergeForm(forms.Form):
    """A server that is this one under a second name."""

    duplicate = forms.ChoiceField(label="The server that goes")

    def __init__(self, *args: object, servers: Iterable[str], **more: object) -> None:
        """Offer the other servers."""
        super().__init__(*args, **more)  # type: ignore[arg-type] # a form's own arguments
        field = self.fields["duplicate"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in servers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The card of an endpoint's other addresses. `merge` None: there is no other server."""

    aliases: tuple[Alias, ...]
    add: AddressForm
    merge: MergeForm | None


async def addresses_of(server: str) -> Addresses:
    """Fill the card; the server that may be this one is chosen beforehand."""
    records = (await bootstrap.runtime()).ledger.replica.servers
    likely = [pair.other(server) for pair in duplicates_with(records=records, server=server)]
    others = _others(records, server)
    return Addresses(
        aliases=tuple(each for each in await aliases_list() if each.server == server),
        add=AddressForm(),
        merge=MergeForm(servers=others, initial={"duplicate": next(iter(likely), None)}) if others else None,
    )


async def addresses_act(request: HttpRequest, principal: Principal, server: str) -> Addresses | None:
    """Do what a button of the card says; give the card back, with what was wrong in it, where that could not be done.

    Raises:
        Http404: there is no such server.
        LedgerUnavailable: the ledger cannot be reached.
    """
    try:
        match request.POST["do"]:
            case Do.ADD:
                return await _add(request, principal, server)
            case Do.REMOVE:
                await _remove(request, principal)
                return None
            case _:
                return await _merge(request, principal, server)
    except UnknownServer as error:
        raise Http404(no_server(name=server)) from error


async def _add(request: HttpRequest, principal: Principal, server: str) -> Addresses | None:
    form = AddressForm(request.POST)
    if form.is_valid():
        try:
            made = await server_alias_add(
                server=server,
                alias=form.cleaned_data["address"],
                node=settings.KUBEMOOT.node,
                now=bootstrap.clock(),
            )
        except AliasRefused as refused:
            form.add_error("address", f"This {refused.message}.")
        else:
            told(step=f"alias {made.alias} added", server=server, principal=principal)
            notices.success(request, alias_added(alias=made.alias, server=server))
            return None
    return replace(await addresses_of(server), add=form)


async def _remove(request: HttpRequest, principal: Principal) -> None:
    try:
        removed = await alias_remove(alias=request.POST.get("address", ""), node=settings.KUBEMOOT.node)
    except AliasUnknown:
        return  # somebody else was quicker: it is what was wanted
    told(step="is no alias any more", server=removed, principal=principal)
    notices.success(request, alias_removed(alias=removed))


async def _merge(request: HttpRequest, principal: Principal, server: str) -> Addresses | None:
    rt = await bootstrap.runtime()
    form = MergeForm(request.POST, servers=_others(rt.ledger.replica.servers, server))
    if form.is_valid():
        duplicate = form.cleaned_data["duplicate"]
        try:
            await endpoint_merge(
                ledger=rt.ledger, server=duplicate, into=server, now=rt.now(), changed=bootstrap.resources_changed
            )
        except MergeRefused as refused:
            form.add_error("duplicate", str(refused))
        else:
            told(step=f"merged into {server}", server=duplicate, principal=principal)
            notices.success(request, was_merged(server=duplicate, into=server))
            return None
    return replace(await addresses_of(server), merge=form)


def _others(servers: Iterable[str], server: str) -> list[str]:
    return sorted((name for name in servers if name != server), key=natural)
