"""The form of an endpoint's limits."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from kubemoot_web.crds.limits import Limits
from kubemoot_web.pages.forms import ResourceForm

MOST = 10_000
NUMERIC = {"inputmode": "numeric"}


class LimitsForm(ResourceForm):
    """How many calls at once, how many of these places background calls never take, and what its engine does."""

    paths: ClassVar[Mapping[str, str]] = {
        "spec.scheduling.maxConcurrent": "cap",
        "spec.scheduling.interactiveReserve": "reserve",
        "spec.scheduling.abortsOnDisconnect": "works_on",
        "spec.scheduling.quarantineOnAmbiguous": "doubts",
        "spec.scheduling": "reserve",
    }
    cap = forms.IntegerField(
        label="Calls at once",
        required=False,
        min_value=1,
        max_value=MOST,
        help_text="Further ones wait in line. Empty: no cap, the slots of each model alone count.",
        error_messages={"min_value": "At least 1. To let nobody in, pause it."},
        widget=forms.NumberInput(attrs=NUMERIC),
    )
    reserve = forms.IntegerField(
        label="Of these, kept for interactive calls",
        required=False,
        min_value=0,
        max_value=MOST,
        help_text="Background calls never take them, so that whoever waits for an answer finds a place.",
        widget=forms.NumberInput(attrs=NUMERIC),
    )
    works_on = forms.BooleanField(
        label="Its engine works on when a client leaves",
        required=False,
        help_text="The place of a call whose client left is then kept until the engine ends, callTimeoutSeconds at "
        "most. Ollama, vLLM and llama.cpp end their work at once: leave it off for them.",
        widget=forms.CheckboxInput,
    )
    doubts = forms.BooleanField(
        label="Take it out when nobody knows whether its engine is at work",
        required=False,
        help_text="After a call that timed out, lost its connection or its end. It comes back when a probe finds it "
        "ready with nothing in flight.",
        widget=forms.CheckboxInput,
    )
    version = forms.CharField(widget=forms.HiddenInput, max_length=20)

    def clean(self) -> dict[str, Any]:
        """Hold the reserve against the cap."""
        cap, reserve = self.cleaned_data.get("cap"), self.cleaned_data.get("reserve")
        if reserve and cap is None and "cap" not in self.errors:
            self.add_error("reserve", "Places are kept of a cap: say how many calls at once, too.")
        if reserve and cap is not None and reserve > cap:
            self.add_error("reserve", f"At most the calls at once, which are {cap}.")
        return self.cleaned_data

    def limits(self) -> dict[str, int | None]:
        """Give what was typed, as the resource calls it."""
        return {
            "maxConcurrent": self.cleaned_data["cap"],
            "interactiveReserve": self.cleaned_data["reserve"] or 0,
            "abortsOnDisconnect": not self.cleaned_data["works_on"],
            "quarantineOnAmbiguous": self.cleaned_data["doubts"],
        }


def filled(limits: Limits) -> LimitsForm:
    """Fill the form with what holds now."""
    return LimitsForm(
        initial={
            "cap": limits.max_concurrent,
            "reserve": limits.interactive_reserve,
            "works_on": not limits.aborts_on_disconnect,
            "doubts": limits.quarantine_on_ambiguous,
            "version": limits.resource_version,
        }
    )
