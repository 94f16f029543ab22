"""The form of a new key: what it is for, what it may do, how long."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from django import forms
from django.core.validators import RegexValidator

from kubemoot_web.access import SCOPES, Principal
from scheduler.core.messages import who
from scheduler.core.types import Priority

LIFETIMES: dict[str, tuple[str, timedelta | None]] = {
    "1d": ("a day", timedelta(days=1)),
    "30d": ("30 days", timedelta(days=30)),
    "90d": ("90 days", timedelta(days=90)),
    "365d": ("a year", timedelta(days=365)),
    "never": ("until it is revoked", None),
}
SCOPE_WORDS = {
    "read": "read: see the cluster, its calls and its resources",
    "call": "call: ask models, and claim places for calls",
    "write": "write: change servers, models, agents and policies",
    "admin": "admin: manage people and keys",
}
CEILINGS = (
    (Priority.INTERACTIVE.value, "interactive"),
    (Priority.BACKGROUND.value, "background"),
)
LIMITS = ("crews", "models", "ceiling", "max_calls")
"""Fields that are put away until somebody wants them."""


NO_SLASH = RegexValidator("/", "Write it without a slash: such names are agents'.", inverse_match=True)
"""Calls of a key go by its name, which must not pass for an agent's."""


class KeyForm(forms.Form):
    """A new key. Nobody can give away a scope that they do not have."""

    required_css_class = "required"
    name = forms.CharField(
        label="Name",
        max_length=100,
        validators=[NO_SLASH],
        help_text="Which client it is for: open-webui, the nightly job, Ada's laptop.",
        error_messages={"required": "Write what it is for: its calls go by this name."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        error_messages={"required": "Tick at least one: a key that may do nothing is of no use."},
        widget=forms.CheckboxSelectMultiple,
    )
    lifetime = forms.ChoiceField(
        label="It lives", choices=[(key, words) for key, (words, _) in LIFETIMES.items()], initial="365d"
    )
    crews = forms.MultipleChoiceField(
        label="Crews",
        required=False,
        help_text="Tick none and it calls for all. With some ticked it calls for their agents alone, by agent/NAME.",
        widget=forms.CheckboxSelectMultiple,
    )
    models = forms.MultipleChoiceField(
        label="Models",
        required=False,
        help_text="Tick none and it may use all.",
        widget=forms.CheckboxSelectMultiple,
    )
    ceiling = forms.ChoiceField(
        label="Highest class of its calls",
        choices=CEILINGS,
        initial=Priority.INTERACTIVE.value,
        help_text="Background calls go after those for whose answer somebody waits.",
    )
    max_calls = forms.IntegerField(
        label="Calls at once",
        required=False,
        min_value=1,
        max_value=100_000,
        help_text="More of them wait in line. Empty: any number.",
        error_messages={"min_value": "At least 1. Empty: any number.", "max_value": "At most 100,000."},
    )

    def __init__(self, *args: Any, principal: Principal, crews: Sequence[str], models: Sequence[str]) -> None:
        super().__init__(*args)
        choices = {
            "scopes": [(scope, SCOPE_WORDS[scope]) for scope in SCOPES if scope in principal.scopes],
            "crews": [(crew, who(crew)) for crew in crews],
            "models": [(model, model) for model in models],
        }
        for name, offered in choices.items():
            cast("forms.MultipleChoiceField", self.fields[name]).choices = offered
        self.fields["scopes"].initial = [scope for scope in ("read", "call") if scope in principal.scopes]

    @property
    def limits_are_open(self) -> bool:
        """Say whether the limits must be seen: something is wrong there, or was chosen."""
        return any(self.errors.get(name) for name in LIMITS) or any(
            self.data.get(name) not in (None, "", Priority.INTERACTIVE.value) for name in LIMITS
        )

    def wanted(self) -> dict[str, Any]:
        """Give what was asked for, as `token_create` takes it."""
        said = self.cleaned_data
        return {
            "name": said["name"],
            "scopes": said["scopes"],
            "lifetime": LIFETIMES[said["lifetime"]][1],
            "crews": said["crews"],
            "models": said["models"],
            "ceiling": Priority(said["ceiling"]),
            "max_calls": said["max_calls"],
        }
