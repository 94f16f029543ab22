"""Endpoints that an operator knows to be one."""

from django.db import models

LONGEST_KEY = 2300


class EndpointAlias(models.Model):
    """Another identity of an endpoint: `alias_key` is `canonical_key`. One never leads to a second one."""

    alias_key = models.CharField(max_length=LONGEST_KEY, unique=True, editable=False)
    canonical_key = models.CharField(max_length=LONGEST_KEY, db_index=True, editable=False)
    created_at = models.DateTimeField(editable=False)

    class Meta:
        ordering = ("canonical_key", "alias_key")
        verbose_name = "endpoint alias"
        verbose_name_plural = "endpoint aliases"

    def __str__(self) -> str:
        """Name both."""
        return f"{self.alias_key} is {self.canonical_key}"
