"""Crew, Agent, PromptModule and MootArchetype."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kubemoot_web.crds.names import Capability, EnvName, Reference
from kubemoot_web.crds.scalars import Flag, Positive, PositiveNumber, TemperatureText, Text, Whole, to_plain
from kubemoot_web.crds.schemas.base import Schema
from scheduler.core.agent_settings import AgentSettings

DEFAULT_TEMPERATURE = "0.3"
Free = Annotated[Any, BeforeValidator(to_plain)]


class DiscussionSettings(Schema):
    """Whether a crew discusses."""

    enabled: Flag = True


class CrewSpec(Schema):
    """Agents that work on questions together; `weight` is the crew's share when places are scarce."""

    description: Text = ""
    discussion: DiscussionSettings = DiscussionSettings()
    weight: PositiveNumber = 1


class EnvVar(Schema):
    """One setting of an agent."""

    name: EnvName
    value: Text = ""


class Deployment(Schema):
    """An agent's own settings."""

    env: list[EnvVar] = Field(default_factory=list)

    @model_validator(mode="after")
    def _settings_can_be_read(self) -> Self:
        names = [variable.name for variable in self.env]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"has env {twice} twice: keep one")
        AgentSettings.of(self.environment())
        return self

    def environment(self) -> dict[str, str]:
        """Give the settings by name."""
        return {variable.name: variable.value for variable in self.env}


class AgentSpec(Schema):
    """An agent says what it can do, never which model or server it uses."""

    description: Text = ""
    capabilities: list[Capability] = Field(default_factory=list)
    discuss_role: Literal["coordinator", "tooler", "analyst", "researcher", "generic"] = "generic"
    prompt_refs: list[Reference] = Field(default_factory=list)
    system_prompt: Text = ""
    discuss_keywords: list[Text] = Field(default_factory=list)
    triage_summary: Text = ""
    temperature: Annotated[TemperatureText, AfterValidator(lambda text: text or DEFAULT_TEMPERATURE)] = (
        DEFAULT_TEMPERATURE
    )
    max_tokens: Positive = 4096
    think: Flag | None = None
    runtime: Literal["builtin", "external"] = "builtin"
    deployment: Deployment = Deployment()


class PromptModuleSpec(Schema):
    """A piece of a system prompt; those with a smaller `order` come first."""

    content: Text
    order: Whole = 100


class MootArchetypeSpec(Schema):
    """A form of discussion."""

    phases: Annotated[list[Free], Field(min_length=1)]
    signals: list[Free] = Field(default_factory=list)
    state_machine: dict[str, Free] = Field(default_factory=dict)
