"""The worker's own timer."""

import threading
from typing import Any

import celery.beat

from kubemoot_web.celery import Clock, app


class Worker:
    """As much of a worker as the timer asks for."""

    app = app


def test_the_timer_runs_in_the_worker_only_where_it_is_asked_for():
    assert Clock(Worker(), clock=True).include_if(Worker())
    assert not Clock(Worker()).include_if(Worker())


def test_a_timer_that_stumbles_goes_on_and_ends_when_told(monkeypatch, caplog):
    began, starts = threading.Semaphore(0), []

    class Service:
        def __init__(self, *args: Any, **options: Any) -> None:
            self.over = threading.Event()

        def start(self) -> None:
            starts.append(self)
            began.release()
            if len(starts) == 1:
                raise ConnectionError("the broker is away")
            self.over.wait(10)

        def stop(self) -> None:
            self.over.set()

    monkeypatch.setattr(celery.beat, "Service", Service)
    clock = Clock(Worker(), clock=True)

    clock.start(Worker())
    assert began.acquire(timeout=10)
    assert began.acquire(timeout=10)
    clock.stop(Worker())

    assert "clock_stumbled" in caplog.text
    thread = next((t for t in threading.enumerate() if t.name == "clock"), None)
    if thread is not None:
        thread.join(10)
        assert not thread.is_alive()
