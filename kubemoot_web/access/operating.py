"""What operators do to endpoints is written to the log: what, to which, who, and why."""

import logging
from collections.abc import Mapping

from kubemoot_web.access.principal import Principal

log = logging.getLogger(__name__)
LONGEST_REASON = 200


def one_line(reason: str) -> str:
    """Put a reason on one line; what is too long for that is cut."""
    return " ".join(reason.split())[:LONGEST_REASON]


def limits_told(limits: Mapping[str, int | str | None], *, group_cap: int | None) -> str:
    """Name what was set of an endpoint's limits, and of its resource group's."""
    return f"limits {dict(limits)}" if group_cap is None else f"limits {dict(limits)}, resource group {group_cap}"


def told(*, step: str, server: str, principal: Principal, reason: str = "") -> None:
    """Write it down."""
    log.info("endpoint %r: %s, by %r%s", server, step, principal.name, f", because {reason!r}" if reason else "")
