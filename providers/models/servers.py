"""Servers that run models."""

from django.db import models

from providers.models.resource import Resource


class ModelServer(Resource):
    """A registered server. `endpoint_key` is its identity: two resources can never share one server."""

    endpoint_key = models.CharField(max_length=2300, unique=True, null=True, editable=False)  # noqa: DJ001 - null is no key, and no two rows share one

    class Meta(Resource.Meta):
        verbose_name = "model server"
