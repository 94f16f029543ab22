"""History of calls: a projection of the journal, never the truth of the moment, and never a word of a prompt."""

from django.db import models


class Call(models.Model):
    """One call, from its arrival to its end, with the decision that placed it."""

    id = models.CharField(primary_key=True, max_length=64)
    agent = models.CharField(max_length=320)
    crew = models.CharField(max_length=320, blank=True)
    thread = models.CharField(max_length=200, blank=True)
    phase = models.CharField(max_length=32, blank=True)
    purpose = models.CharField(max_length=64, blank=True)
    priority = models.CharField(max_length=16)
    model = models.CharField(max_length=320, blank=True)
    server = models.CharField(max_length=320, blank=True)
    action = models.CharField(max_length=16, blank=True)
    state = models.CharField(max_length=16)
    reason = models.CharField(max_length=64, blank=True)
    evicted = models.JSONField(default=list)
    decision = models.JSONField(null=True)
    arrived_at = models.DateTimeField()
    granted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    key = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=20, blank=True)
    first_byte_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("-arrived_at", "-id")
        indexes = (
            models.Index(fields=("-arrived_at", "-id"), name="call_newest_first"),
            models.Index(fields=("state", "-arrived_at", "-id"), name="call_by_state"),
            models.Index(fields=("server", "-arrived_at", "-id"), name="call_by_server"),
            models.Index(fields=("model", "-arrived_at", "-id"), name="call_by_model"),
            models.Index(fields=("agent", "-arrived_at", "-id"), name="call_by_agent"),
            models.Index(fields=("crew", "-arrived_at", "-id"), name="call_by_crew"),
        )

    def __str__(self) -> str:
        """Name the call."""
        return f"{self.agent} {self.model} {self.state}"


class JournalCursor(models.Model):
    """How far the journal has been written down. One row for each ledger."""

    ledger = models.CharField(primary_key=True, max_length=64)
    entry = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        """Name the place in the journal."""
        return f"{self.ledger}: {self.entry}"
