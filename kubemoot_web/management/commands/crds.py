"""`manage.py crds`: print the CRD manifests for a Kubernetes cluster."""

from typing import Any

import yaml
from django.core.management.base import BaseCommand

from kubemoot_web.crds.definitions import definitions


class Command(BaseCommand):
    """Prints the CustomResourceDefinitions, ready for `kubectl apply -f -`."""

    help = "Print the CRD manifests, ready for kubectl apply -f -."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django declares it so

    def handle(self, *_: str, **__: Any) -> None:
        """Print them."""
        self.stdout.write(yaml.safe_dump_all(definitions(), sort_keys=False, explicit_start=True, allow_unicode=True))
