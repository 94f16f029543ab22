"""Settings that an agent carries in its `deployment.env`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

TOLERANCE = "KUBEMOOT_MODEL_CANDIDATE_TOLERANCE"
WAIT_LIMIT = "KUBEMOOT_DISCUSS_GPU_WAIT_LIMIT_SECONDS"
DEFAULT_TOLERANCE = 10
WHOLE = re.compile(r"[0-9]{1,9}")


class SettingRefused(ValueError):
    """A setting whose value cannot be read."""

    def __init__(self, *, name: str, value: str) -> None:
        super().__init__(f"has env {name}, which must be a whole number of 0 or more, not {value!r}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How far below the preferred model an agent goes, and how long it waits. None: the installation's limit."""

    tolerance: int = DEFAULT_TOLERANCE
    wait_limit_s: int | None = None

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "AgentSettings":
        """Read the settings; an empty value counts as not given.

        Raises:
            SettingRefused: when one is no whole number.
        """
        tolerance = _whole(env, TOLERANCE)
        return cls(
            tolerance=DEFAULT_TOLERANCE if tolerance is None else tolerance,
            wait_limit_s=_whole(env, WAIT_LIMIT),
        )


def _whole(env: Mapping[str, str], name: str) -> int | None:
    value = env.get(name, "").strip()
    if not value:
        return None
    if not WHOLE.fullmatch(value):
        raise SettingRefused(name=name, value=env[name])
    return int(value)
