"""Tables of crews, agents and policies, and the history of calls and servers."""

from scheduler.models.attempts import Attempt, AttemptTally, SwitchTally
from scheduler.models.calls import Call, JournalCursor
from scheduler.models.crews import Agent, Crew, PromptModule
from scheduler.models.policies import CrewSchedulingPolicy, MootArchetype
from scheduler.models.servers import ServerEvent

__all__ = [
    "Agent",
    "Attempt",
    "AttemptTally",
    "Call",
    "Crew",
    "CrewSchedulingPolicy",
    "JournalCursor",
    "MootArchetype",
    "PromptModule",
    "ServerEvent",
    "SwitchTally",
]
