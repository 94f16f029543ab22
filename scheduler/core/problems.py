"""What may go wrong when the ledger or the catalog is asked; each says so in a sentence."""

from scheduler.core.messages.wording import who


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
    """No more waiters are taken: of nobody, or of this agent or client key."""

    def __init__(self, *, limit: int, agent: str = "", key: str = "") -> None:
        of = f" of the key {key}" if key else f" of {who(agent)}" if agent else ""
        super().__init__(f"{limit} calls{of} wait already, which is as many as may. Send fewer at once.")
        self.limit = limit
        self.agent = agent
        self.key = key
