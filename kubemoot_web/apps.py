"""The Django app of the web floor."""

from django.apps import AppConfig


class KubemootWebConfig(AppConfig):
    """Identity, pages, REST and live updates."""

    name = "kubemoot_web"
    verbose_name = "Kubemoot"
