"""What every stored resource has: its names, what people wrote, what we found out, and counters for lost races."""

import uuid

from django.db import models


def new_uid() -> str:
    """Make an id that no other resource had or will have."""
    return str(uuid.uuid4())


class Resource(models.Model):
    """A resource of Kubernetes' shape. `spec` holds the checked document with its defaults filled in.

    `resource_version` counts what people changed, so that a status written meanwhile makes nobody's edit fail.
    """

    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=36, default=new_uid, unique=True, editable=False)
    labels = models.JSONField(default=dict, blank=True)
    annotations = models.JSONField(default=dict, blank=True)
    spec = models.JSONField(default=dict)
    status = models.JSONField(default=dict, blank=True, editable=False)
    resource_version = models.PositiveBigIntegerField(default=1, editable=False)
    generation = models.PositiveBigIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(editable=False)
    changed_at = models.DateTimeField(editable=False)

    class Meta:
        abstract = True
        ordering = ("namespace", "name")
        constraints = (models.UniqueConstraint(fields=("namespace", "name"), name="%(app_label)s_%(class)s_once"),)

    def __str__(self) -> str:
        """Name the resource."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
