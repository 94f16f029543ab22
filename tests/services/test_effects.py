"""Telling workers of work."""

from celery import current_app
from kombu.exceptions import OperationalError

from scheduler.effects import CeleryEffects


async def test_whoever_gives_a_place_back_hears_nothing_of_a_broker_that_does_not_answer(monkeypatch, caplog):
    """What was committed stands and the tick finds the work: a whole answer ended in an error."""

    def send_task(name, **told):
        raise OperationalError("Connection refused.")

    monkeypatch.setattr(current_app, "send_task", send_task)

    await CeleryEffects().wake()

    assert "no worker could be told of scheduler.run_cycle: Connection refused." in caplog.text
