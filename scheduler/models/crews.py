"""Crews, their agents, and the pieces of their prompts."""

from django.db import models

from providers.models import Resource


class Crew(Resource):
    """Agents that work on questions together."""

    class Meta(Resource.Meta):
        verbose_name = "crew"


class Agent(Resource):
    """An agent. `crew` repeats its label `kubemoot.ai/crew`, so that one can ask for a crew's agents."""

    crew = models.CharField(max_length=63, blank=True, db_index=True, editable=False)

    class Meta(Resource.Meta):
        verbose_name = "agent"


class PromptModule(Resource):
    """A piece of a system prompt."""

    class Meta(Resource.Meta):
        verbose_name = "prompt module"
