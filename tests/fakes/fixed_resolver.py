"""A resolver that answers what a test says."""


class FixedResolver:
    """Says of every endpoint that it leads to `places`; None: nothing is known yet."""

    def __init__(self, *places: str) -> None:
        self.places: tuple[str, ...] | None = places or None

    def addresses(self, *, endpoint: str) -> tuple[str, ...] | None:
        """Answer."""
        return self.places
