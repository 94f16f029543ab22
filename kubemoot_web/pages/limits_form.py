"""The form of an endpoint's limits, and of the cap that its resource group shares."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from kubemoot_web.crds.limits import Limits
from kubemoot_web.pages.forms import ResourceForm
from scheduler.core.messages.endpoints import group_cap_means

MOST = 10_000
TOO_MANY = "At most 10,000."
NUMERIC = {"inputmode": "numeric"}


class LimitsForm(ResourceForm):
    """How many calls at once, how many of these places background calls never take, what its engine does, and what
    becomes of calls without the ledger.

    Of a server in a resource group also how many calls all of its servers take together.
    """

    paths: ClassVar[Mapping[str, str]] = {
        "spec.scheduling.maxConcurrent": "cap",
        "spec.scheduling.interactiveReserve": "reserve",
        "spec.scheduling.abortsOnDisconnect": "works_on",
        "spec.scheduling.quarantineOnAmbiguous": "doubts",
        "spec.scheduling.failMode": "goes_on",
        "spec.scheduling": "reserve",
        "spec.scheduling.resourceGroup": "group_cap",
        "spec.scheduling.resourceGroup.maxConcurrent": "group_cap",
    }
    cap = forms.IntegerField(
        label="Calls at once",
        required=False,
        min_value=1,
        max_value=MOST,
        help_text="Further ones wait in line. Empty: no cap, the slots of each model alone count.",
        error_messages={"min_value": "At least 1. To let nobody in, pause it.", "max_value": TOO_MANY},
        widget=forms.NumberInput(attrs={**NUMERIC, "placeholder": "no cap"}),
    )
    reserve = forms.IntegerField(
        label="Of these, kept for interactive calls",
        required=False,
        min_value=0,
        max_value=MOST,
        help_text="Background calls never take them, so that whoever waits for an answer finds a place.",
        error_messages={"min_value": "0 or more.", "max_value": TOO_MANY},
        widget=forms.NumberInput(attrs=NUMERIC),
    )
    group_cap = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST,
        error_messages={"min_value": "At least 1.", "max_value": TOO_MANY},
        widget=forms.NumberInput(attrs=NUMERIC),
    )
    works_on = forms.BooleanField(
        label="Its engine works on when a client leaves",
        required=False,
        help_text="The place of a call whose client left is then kept until the engine ends, callTimeoutSeconds at "
        "most. Ollama ends its work at once: leave it off there.",
        widget=forms.CheckboxInput,
    )
    doubts = forms.BooleanField(
        label="Take it out when nobody knows whether its engine is at work",
        required=False,
        help_text="After a call that timed out, lost its connection or its end. It comes back when a probe finds it "
        "ready with nothing in flight.",
        widget=forms.CheckboxInput,
    )
    goes_on = forms.BooleanField(
        label="Calls go on here while Redis cannot be reached",
        required=False,
        help_text="Those of the gateway's clients, with the models in memory. Each web process then lets in as many as "
        "the cap, for none knows of the others.",
        widget=forms.CheckboxInput,
    )
    version = forms.CharField(widget=forms.HiddenInput, max_length=20)

    def __init__(self, data: Mapping[str, Any] | None = None, *, limits: Limits) -> None:
        """Fill the form with what holds now, or with what was typed."""
        super().__init__(
            data,
            initial={
                "cap": limits.max_concurrent,
                "reserve": limits.interactive_reserve,
                "works_on": not limits.aborts_on_disconnect,
                "doubts": limits.quarantine_on_ambiguous,
                "goes_on": limits.fail_mode == "local",
                "group_cap": limits.group.max_concurrent if limits.group else None,
                "version": limits.resource_version,
            },
        )
        if limits.group is None:
            del self.fields["group_cap"]
            return
        field = self.fields["group_cap"]
        field.label = f"Calls at once in the resource group {limits.group.name}"
        field.help_text = group_cap_means(beside=limits.beside)

    def clean(self) -> dict[str, Any]:
        """Hold the reserve against the cap."""
        cap, reserve = self.cleaned_data.get("cap"), self.cleaned_data.get("reserve")
        if reserve and cap is None and "cap" not in self.errors:
            self.add_error("reserve", "Places are kept of a cap: say how many calls at once, too.")
        if reserve and cap is not None and reserve > cap:
            self.add_error("reserve", f"At most the calls at once, which are {cap}.")
        if self.data.get("group_cap") == "" and "group_cap" in self.fields:
            self.add_error("group_cap", "A resource group has a cap, at least 1.")
        return self.cleaned_data

    def limits(self) -> dict[str, int | str | None]:
        """Give what was typed, as the resource calls it."""
        return {
            "maxConcurrent": self.cleaned_data["cap"],
            "interactiveReserve": self.cleaned_data["reserve"] or 0,
            "abortsOnDisconnect": not self.cleaned_data["works_on"],
            "quarantineOnAmbiguous": self.cleaned_data["doubts"],
            "failMode": "local" if self.cleaned_data["goes_on"] else "closed",
        }

    def new_group_cap(self) -> int | None:
        """Give what was typed for the resource group, where the server is in one and it is something else than now."""
        typed: int | None = self.cleaned_data.get("group_cap")
        return None if typed == self.initial["group_cap"] else typed
