"""The Celery app. Routes and beat live in the settings, tasks in the packages' `tasks` modules."""

import os
import warnings

from celery import Celery, signals
from celery.exceptions import SecurityWarning

from scheduler.task_names import TICK

HEARTBEAT_KEY = "worker-alive"
HEARTBEAT_LIFETIME_S = 15

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.prod")

# In a container everything runs as root, and the warning is about pickled messages: only JSON is accepted here.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("kubemoot")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.task_postrun.connect
def leave_sign_of_life(sender: object = None, **_: object) -> None:
    """Tell /readyz that a worker takes tasks and finishes them."""
    if getattr(sender, "name", "") == TICK:
        from django.core.cache import cache  # the settings are not ready when this module is imported

        cache.set(HEARTBEAT_KEY, os.getpid(), timeout=HEARTBEAT_LIFETIME_S)
