"""Faults of a simulated engine, switched while it runs."""

import asyncio
from collections.abc import Mapping
from typing import Any

FAULTS = {
    "refuse": "close the port for so many seconds",
    "hang": "accept every request and never answer",
    "nonsense": "answer every request with a page that is not JSON",
    "error500": "answer every request with HTTP 500",
    "slow": "wait so many seconds before every answer",
    "load_hang": "never finish a load",
    "load_fail": "end every load with HTTP 500",
    "unload_ignored": "say that a model is unloaded, and keep it",
    "busy503": "answer every call with HTTP 503, as a full queue does",
    "retry503": "answer every call with HTTP 503 and a Retry-After of so many seconds",
    "fail_calls": "answer the next so many calls with HTTP 500",
    "wedge": "take calls and write nothing for them, while the lists stay well",
    "works_on": "go on with a call whose client has left",
    "cut": "break the connection of every stream after so many tokens, of every other answer in its middle",
    "no_end": "end every stream after so many tokens, without its mark",
    "error_inside": "end every stream after so many tokens with an error in its midst",
}


class Faults:
    """Which faults are on. A value of false, zero or null switches one off."""

    def __init__(self) -> None:
        """Begin without a fault."""
        self._on: dict[str, float] = {}
        self._changed = asyncio.Event()

    def switch(self, wanted: Mapping[str, Any]) -> None:
        """Switch the named faults, leaving the others as they are.

        Raises:
            ValueError: there is no such fault, or its value is not a number or a yes or no.
        """
        for name, value in wanted.items():
            if name not in FAULTS:
                raise ValueError(f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
            if value is not None and not isinstance(value, bool | int | float):
                raise ValueError(f"the value of {name} must be true, false or a number")
        self._on |= {name: float(value or 0) for name, value in wanted.items()}
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def seconds(self, name: str) -> float:
        """Give the value of a fault; zero when it is off."""
        return self._on.get(name, 0.0)

    def is_on(self, name: str) -> bool:
        """Say whether a fault is on."""
        return self.seconds(name) > 0

    def take(self, name: str) -> bool:
        """Use up one of a fault that is counted; False when none is left."""
        left = self.seconds(name)
        self._on[name] = max(left - 1, 0.0)
        return left > 0

    async def lifted(self, name: str) -> None:
        """Wait until a fault is off."""
        while self.is_on(name):
            await self._changed.wait()

    def shown(self) -> dict[str, float]:
        """List the faults that are on."""
        return {name: value for name, value in self._on.items() if value > 0}
