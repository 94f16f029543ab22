"""System checks: what can be seen to be wrong before anything runs."""

import difflib
import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

OURS = "KUBEMOOT_"


@register
def settings_are_spelled_right(**_: Any) -> list[CheckMessage]:
    """Warn of a variable that is nearly one of ours. A cluster sets others of our prefix itself, so it is no error."""
    found: list[CheckMessage] = []
    for name in sorted(os.environ):
        wanted = name.removesuffix("_FILE")
        if not name.startswith(OURS) or wanted in settings.KUBEMOOT_VARIABLES:
            continue
        for close in difflib.get_close_matches(wanted, settings.KUBEMOOT_VARIABLES, n=1, cutoff=0.85):
            found.append(Warning(f"{name} is not a setting.", hint=f"Did you mean {close}?", id="kubemoot.W001"))
    return found
