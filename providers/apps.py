"""The Django app."""

from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    """Registers the package with Django."""

    name = "providers"
