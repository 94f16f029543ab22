"""History of servers: a projection of the journal beside that of calls."""

from django.db import models


class ServerEvent(models.Model):
    """One thing on a server: a load, an unload, a change that a probe found, calls kept away or let in."""

    server = models.CharField(max_length=320)
    kind = models.CharField(max_length=16)
    at = models.DateTimeField()
    model = models.CharField(max_length=320, blank=True)
    mib = models.PositiveBigIntegerField(null=True)
    agent = models.CharField(max_length=320, blank=True)
    call = models.CharField(max_length=64, blank=True)
    evicts = models.JSONField(default=list)
    detail = models.TextField(blank=True)
    took_s = models.FloatField(null=True)
    until = models.DateTimeField(null=True)
    phase = models.CharField(max_length=32, blank=True)
    is_ready = models.BooleanField(null=True)
    residents = models.JSONField(default=list)

    class Meta:
        ordering = ("at", "id")
        indexes = (
            models.Index(fields=("server", "-at", "-id"), name="server_event_newest_first"),
            models.Index(fields=("-at", "kind"), name="server_event_by_time"),
        )

    def __str__(self) -> str:
        """Name the event."""
        return f"{self.server} {self.kind} {self.model}".rstrip()
