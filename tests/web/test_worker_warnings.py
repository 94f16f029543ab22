"""What a worker says when it loses its connection to Redis is of use to somebody."""

import warnings

from celery import signals
from celery.exceptions import CPendingDeprecationWarning

from kubemoot_web.celery import app


def test_a_ready_worker_does_not_speak_of_what_another_version_will_do():
    with warnings.catch_warnings(record=True) as heard:
        warnings.filterwarnings("always", category=CPendingDeprecationWarning)  # as the worker's log has it set up
        signals.worker_ready.send(sender=app)

        warnings.warn("of tasks that are acknowledged late", CPendingDeprecationWarning, stacklevel=1)

    assert heard == []
