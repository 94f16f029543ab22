"""A clock that stands still until a test moves it."""


class ManualClock:
    """Call it for the time; move it by hand."""

    def __init__(self, *, at: float = 1000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        """Give the time."""
        return self.at

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds
