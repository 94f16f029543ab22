"""The Django app."""

from django.apps import AppConfig


class SchedulerConfig(AppConfig):
    """Registers the package with Django."""

    name = "scheduler"
