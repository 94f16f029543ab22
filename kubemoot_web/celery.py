"""The Celery app. Routes and beat live in the settings, tasks in the packages' `tasks` modules."""

import logging
import os
import threading
import warnings
from typing import Any

from celery import Celery, beat, bootsteps, signals
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning
from click import Option

from scheduler.task_names import TICK

HEARTBEAT_KEY = "worker-alive"
HEARTBEAT_LIFETIME_S = 15

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.prod")

# In a container everything runs as root, and the warning is about pickled messages: only JSON is accepted here.
warnings.filterwarnings("ignore", category=SecurityWarning)

log = logging.getLogger(__name__)


class CalmScheduler(beat.Scheduler):
    """Sleeps until a task is due. Celery's own wakes a hundredth of a second early and spins for the rest."""

    def adjust(self, n: Any, drift: float = 0.0) -> Any:
        """Give the time to sleep, as it is."""
        return n + drift if n else n


class Clock(bootsteps.StartStopStep):
    """Celery's timer as a thread of the worker: `--beat` makes a second process of 100 MiB for it.

    It never ends by itself: without it nothing is reaped, probed or written down.
    """

    def __init__(self, worker: Any, clock: bool = False, **options: Any) -> None:
        """Take part when the worker was started with `--clock`."""
        super().__init__(worker, **options)
        self.enabled = clock
        self._is_over = threading.Event()
        self._service: Any = None

    def start(self, worker: Any) -> None:
        """Start the thread."""
        threading.Thread(target=self._tick_on, args=(worker.app,), name="clock", daemon=True).start()

    def stop(self, worker: Any) -> None:  # noqa: ARG002 - Celery hands every step its worker
        """Let the thread end."""
        self._is_over.set()
        if self._service is not None:
            self._service.stop()

    def _tick_on(self, celery: Celery) -> None:
        while not self._is_over.is_set():
            self._service = beat.Service(celery, max_interval=1, scheduler_cls=CalmScheduler)
            try:
                self._service.start()
            except Exception:  # whatever it stumbles over, the next second has its tick
                log.exception("clock_stumbled")
            self._is_over.wait(1)


app = Celery("kubemoot")
app.steps["worker"].add(Clock)
app.user_options["worker"].add(Option(("--clock",), is_flag=True, help="Also send the tasks that are due by time."))
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.worker_ready.connect
def leave_out_what_is_to_come(**_: object) -> None:
    """Say nothing, at every lost connection, of tasks that are acknowledged late: none of ours is.

    Not before: setting up its log, Celery has each of these warnings shown.
    """
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)


@signals.task_postrun.connect
def leave_sign_of_life(sender: object = None, **_: object) -> None:
    """Tell /readyz that a worker takes tasks and finishes them."""
    if getattr(sender, "name", "") == TICK:
        from django.core.cache import cache  # the settings are not ready when this module is imported

        cache.set(HEARTBEAT_KEY, os.getpid(), timeout=HEARTBEAT_LIFETIME_S)
