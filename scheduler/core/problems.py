"""What may go wrong when the ledger or the catalog is asked; each says so in a sentence."""


class TicketGone(Exception):
    """The ticket was released or its lease ran out; whatever it held may belong to somebody else now."""

    def __init__(self, ticket: str) -> None:
        super().__init__(f"Ticket {ticket} is gone.")
        self.ticket = ticket


class UnknownAgent(Exception):
    """No agent of that name is registered."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no agent {name}. Register it with an Agent resource, or name a model instead.")
        self.name = name


class UnknownServer(Exception):
    """The ledger knows no server of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no server {name}.")
        self.name = name


class LedgerUnavailable(Exception):
    """The ledger cannot be reached, or did not answer in time; whether a change got through is not known."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The ledger does not answer: {problem}")
        self.problem = problem


class LineFull(Exception):
    """No more waiters are taken."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"{limit} calls wait already.")
        self.limit = limit
