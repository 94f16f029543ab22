"""Rows of the web floor: who may call the API."""

from django.conf import settings
from django.db import models

from scheduler.core.types import Priority


class ApiToken(models.Model):
    """A program's key to the REST API and the gateway.

    The token itself is shown once and never stored: `digest` is the SHA-256 of it, `prefix` its public first part.
    It belongs to a user, an agent or a crew (`namespace/name`), or to nobody in particular.
    `allowed_crews` and `allowed_models` are all that it may call; empty lists mean any. `ceiling` is the highest class
    of its calls, `max_calls` how many of them may run at once.
    """

    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=list)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    agent = models.CharField(max_length=140, blank=True)
    crew = models.CharField(max_length=140, blank=True)
    allowed_crews = models.JSONField(default=list, blank=True)
    allowed_models = models.JSONField(default=list, blank=True)
    ceiling = models.CharField(
        max_length=16, choices=[(each.value, each.value) for each in Priority], default=Priority.INTERACTIVE.value
    )
    max_calls = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        """Name the token without giving anything of it away."""
        return f"{self.name} ({self.prefix})"
