"""Policies that rank models, and forms of discussion."""

from django.db import models

from providers.models import Resource


class CrewSchedulingPolicy(Resource):
    """Which models a crew's agents may use. `crew` is the crew's full name, from `spec.crewRef`."""

    crew = models.CharField(max_length=317, blank=True, db_index=True, editable=False)

    class Meta(Resource.Meta):
        verbose_name = "crew scheduling policy"
        verbose_name_plural = "crew scheduling policies"


class MootArchetype(Resource):
    """A form of discussion; it belongs to the whole cluster and has no namespace."""

    class Meta(Resource.Meta):
        verbose_name = "moot archetype"
