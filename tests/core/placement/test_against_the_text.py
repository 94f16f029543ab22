"""The decision is exactly what the scheduling rules say: compared with a second, literal reading of their text."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.explain import decision_doc
from scheduler.core.placement.decide import decide
from scheduler.core.snapshot_json import read_request, read_snapshot
from tests.core.placement.oracle import answer
from tests.core.placement.snapshots import snapshot


def decided(doc: dict[str, Any]) -> dict[str, Any]:
    """Ask the product, the way the API does."""
    decision = decide(request=read_request(doc["request"], now=doc["now"]), snapshot=read_snapshot(doc))
    found = decision_doc(decision)
    return {key: found[key] for key in ("action", "server", "model", "evicts", "reason")} | {
        "costSeconds": round(found["costSeconds"], 6)
    }


def told(doc: dict[str, Any]) -> dict[str, Any]:
    """Ask the text."""
    expected = answer(doc)
    return expected | {"costSeconds": round(expected["costSeconds"], 6)}


@settings(max_examples=3000, derandomize=True)
@given(seed=st.integers(0, 2**40))
def test_any_snapshot_is_decided_as_the_text_says(seed):
    doc = snapshot(seed)

    assert decided(doc) == told(doc)
