"""Tables of crews, agents and policies."""

from scheduler.models.crews import Agent, Crew, PromptModule
from scheduler.models.policies import CrewSchedulingPolicy, MootArchetype

__all__ = ["Agent", "Crew", "CrewSchedulingPolicy", "MootArchetype", "PromptModule"]
