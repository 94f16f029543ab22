"""History of attempts: each contact with a server that a call asked for, beside the call itself; and sums of them."""

from django.db import models


class Attempt(models.Model):
    """One attempt of a call, from its queue to its end. There is no field for a text of anybody."""

    id = models.CharField(primary_key=True, max_length=80)
    call = models.CharField(max_length=64)
    number = models.PositiveIntegerField()
    agent = models.CharField(max_length=320)
    crew = models.CharField(max_length=320, blank=True)
    purpose = models.CharField(max_length=64, blank=True)
    priority = models.CharField(max_length=16)
    key = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=320, blank=True)
    server = models.CharField(max_length=320, blank=True)
    endpoint = models.CharField(max_length=2300, blank=True)
    queued_at = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    first_byte_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=20, blank=True)
    status = models.PositiveIntegerField(null=True)
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)

    class Meta:
        ordering = ("-queued_at", "-id")
        indexes = (
            models.Index(fields=("-queued_at", "-id"), name="attempt_newest_first"),
            models.Index(fields=("server", "-queued_at", "-id"), name="attempt_by_server"),
            models.Index(fields=("endpoint", "-queued_at", "-id"), name="attempt_by_endpoint"),
            models.Index(fields=("outcome", "-queued_at", "-id"), name="attempt_by_outcome"),
            models.Index(fields=("call", "number"), name="attempt_by_call"),
        )

    def __str__(self) -> str:
        """Name the attempt."""
        return f"{self.id} {self.server} {self.outcome}".rstrip()


class AttemptTally(models.Model):
    """How many attempts ended in one way, and how long they waited and ran. Never forgotten: its rows are few."""

    server = models.CharField(max_length=320, blank=True)
    model = models.CharField(max_length=320, blank=True)
    purpose = models.CharField(max_length=64, blank=True)
    priority = models.CharField(max_length=16)
    outcome = models.CharField(max_length=20)
    count = models.PositiveBigIntegerField(default=0)
    queued = models.JSONField(default=list)
    queued_s = models.FloatField(default=0.0)
    ran = models.JSONField(default=list)
    ran_s = models.FloatField(default=0.0)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("server", "model", "purpose", "priority", "outcome"), name="attempt_tally_once"
            ),
        )

    def __str__(self) -> str:
        """Name what is counted."""
        return f"{self.server} {self.model} {self.outcome} {self.count}"


class SwitchTally(models.Model):
    """How often the model of one admitted attempt was another one than that before it, on one server."""

    server = models.CharField(primary_key=True, max_length=320)
    switches = models.PositiveBigIntegerField(default=0)
    model = models.CharField(max_length=320)

    def __str__(self) -> str:
        """Name what is counted."""
        return f"{self.server} {self.switches}"
