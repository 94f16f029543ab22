"""What a call's end teaches about its server, in the books."""

from dataclasses import replace

from scheduler.core.ledger import Lesson, ServerRecord
from tests.fakes.memory_books import Books, ease


def learn(books: Books, record: ServerRecord, *, lesson: Lesson, active_s: float) -> None:
    """Learn from how a call went that ran so long."""
    if lesson is Lesson.NEITHER:
        return
    learned, went_well = record.learned, lesson is Lesson.WELL
    usual = books.config.usual_call_s if learned.call_s is None else learned.call_s
    learned = replace(
        learned,
        call_s=ease(usual, active_s) if went_well else learned.call_s,
        success_rate=ease(1 if learned.success_rate is None else learned.success_rate, 1 if went_well else 0),
    )
    books.put("server", record.config.name, replace(record, learned=learned))
