"""What was, word for word."""

import pytest

from scheduler.core.messages import history
from scheduler.core.server_history import ServerEventKind, ServerEventRecord


def event(kind: ServerEventKind, **more) -> str:
    """Tell an event."""
    return history.server_event(event=ServerEventRecord(server="gpu-1", kind=kind, at=0, **more))


K = ServerEventKind
SAID = {
    "Began to load m for scout.": event(K.LOAD_STARTED, model="m", agent="default/scout"),
    "Began to load m in place of a and b.": event(K.LOAD_STARTED, model="m", evicts=("a", "b")),
    "Loaded m in 12 s.": event(K.LOAD_DONE, model="m", took_s=12.0),
    "Loaded m.": event(K.LOAD_DONE, model="m"),
    "Loading m failed. No room.": event(K.LOAD_FAILED, model="m", detail="no room"),
    "Loading m failed.": event(K.LOAD_FAILED, model="m"),
    "Unloaded m.": event(K.VICTIM_GONE, model="m"),
    "Ready.": event(K.PROBED, phase="ready"),
    "Unreachable. Connection refused.": event(K.PROBED, phase="unreachable", detail="connection refused"),
    "Registered.": event(K.REGISTERED),
    "Its settings were changed.": event(K.CONFIGURED),
    "Taken out of the cluster.": event(K.REMOVED),
    "Paused: no further call is placed here. New fans.": event(K.ADMISSION, phase="paused", detail="new fans"),
    "Being drained: no further call is placed here.": event(K.ADMISSION, phase="draining"),
    "Taken out: no further call is placed here. Wrong.": event(K.ADMISSION, phase="quarantined", detail="wrong"),
    "Taken out: no further call is placed here. A call timed out here after it was sent, and nobody knows whether the "
    "engine still works on it.": event(K.ADMISSION, phase="quarantined", detail="ambiguous_timeout"),
    "Taken back: calls are placed here again.": event(K.ADMISSION, phase="open"),
    "Calls failed here: nothing is placed here for a while, then one call tries it.": event(K.CIRCUIT_OPENED),
    "A call was answered well: calls are placed here again.": event(K.CIRCUIT_CLOSED),
    "At most 1.0 GiB held, 1 call at once at the most, 1 load, 0 unloads.": history.day_summary(
        most_mib=1024, most_calls=1, loads=1, unloads=0, failures=0, away_s=0
    ),
    "At most 0 MiB held, 2 calls at once at the most, 0 loads, 1 unload, 2 failed loads, not ready for 5 min.": (
        history.day_summary(most_mib=0, most_calls=2, loads=0, unloads=1, failures=2, away_s=300)
    ),
    "1 call at once at the most, 0 loads, 0 unloads.": history.day_summary(
        most_mib=None, most_calls=1, loads=0, unloads=0, failures=0, away_s=0
    ),
    "Loading m rests here. No room.": history.model_rests(model="m", problem="no room"),
    "waited for a place 1.0 s, ran 2.0 s": history.call_bar(parts=(("wait", 1.0), ("run", 2.0))),
    "waits for the load": history.call_part(part="load", is_going_on=True),
    "its caller has left; the engine works on": history.call_part(part="run", is_going_on=True, is_left=True),
    "state=x is not understood, so it is not used.": history.filter_not_understood(name="state", value="x"),
}


@pytest.mark.parametrize(("wanted", "said"), SAID.items(), ids=[wanted[:30] for wanted in SAID])
def test_it_says_what_it_should(wanted, said):
    assert said == wanted
