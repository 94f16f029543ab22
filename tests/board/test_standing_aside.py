"""What a call that got no place is told: one word for programs, the truth for people."""

import pytest

from kubemoot_web.board.documents import standing_aside_doc
from scheduler.core import messages
from scheduler.core.ledger import Settled


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("gpu-busy", "gpu-busy"),
        ("gpu-closed", "gpu-busy"),
        ("size-unknown", "gpu-busy"),
        ("load-overdue", "gpu-busy"),
        ("key-limit", "key-limit"),
        ("queue-cleared", "queue-cleared"),
        ("model-too-large", "model-too-large"),
    ],
)
def test_all_that_is_for_want_of_a_gpu_is_one_word_and_its_own_sentence(reason, code):
    assert standing_aside_doc(settled=Settled(reason=reason, model="m")) == {
        "standAside": code,
        "model": "m",
        "message": messages.stood_aside(reason=reason, model="m"),
    }
