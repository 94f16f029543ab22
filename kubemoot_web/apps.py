"""The Django app of the web floor."""

from django.apps import AppConfig


class KubemootWebConfig(AppConfig):
    """Identity, pages, REST and live updates."""

    name = "kubemoot_web"
    verbose_name = "Kubemoot"

    def ready(self) -> None:
        """Register the system checks."""
        from kubemoot_web import checks  # noqa: F401 - importing registers them; models must be loaded first
