"""When a copy has a free slot for a request: slots, caps and reserves, places lent, drains."""

import pytest

from scheduler.core.decisions import Evict, Join, Load, Queue, Use, Wait
from scheduler.core.placement.decide import decide
from tests.builders import NOW, call, cluster, server
from tests.core.placement.taken import taken

ONE = call().prefers("m")
BACKGROUND = ONE.background()
USE = Use(server="gpu-1", model="m")


def capped(cap, *, reserve=0, interactive=0, background=0, slots=9):
    """One copy with slots enough, so that the server's cap alone decides."""
    built = server().loaded("m", slots=slots).having(max_concurrent=cap, interactive_reserve=reserve)
    return cluster(built.busy("m", times=interactive).busy("m", times=background, priority="background"))


SLOTS = [
    ("A copy with one ticket of two slots has a free one", cluster(server().loaded("m", slots=2).busy("m")), ONE, USE),
    (
        "A copy as many tickets as slots has none",
        cluster(server().loaded("m", slots=2).busy("m", times=2)),
        ONE,
        "queue",
    ),
    ("A planned place occupies a slot", cluster(server().loaded("m").ticket("m", state="planned")), ONE, "queue"),
    (
        "A place held for the request's own agent is lent to it",
        cluster(server().loaded("m").ticket("m", state="planned", agent="analyst")),
        ONE,
        USE,
    ),
    (
        "A running call of the request's own agent is not lent",
        cluster(server().loaded("m").busy("m", agent="analyst")),
        ONE,
        "queue",
    ),
    (
        "Another model's tickets leave the slots alone",
        cluster(server().loaded("m").loaded("n").busy("n", times=3)),
        ONE,
        USE,
    ),
]

# The table of the classes: cap and reserve, calls held, who is let in.
CAPS = [
    ("Cap 1, nobody: interactive enters", capped(1), ONE, USE),
    ("Cap 1, nobody: background enters", capped(1), BACKGROUND, USE),
    ("Cap 2 reserve 1, one background: interactive enters", capped(2, reserve=1, background=1), ONE, USE),
    ("Cap 2 reserve 1, one background: background does not", capped(2, reserve=1, background=1), BACKGROUND, "queue"),
    ("Cap 2 reserve 1, one interactive: interactive enters", capped(2, reserve=1, interactive=1), ONE, USE),
    ("Cap 2 reserve 1, one interactive: background enters", capped(2, reserve=1, interactive=1), BACKGROUND, USE),
    ("Cap 4 reserve 1, three background: interactive enters", capped(4, reserve=1, background=3), ONE, USE),
    ("Cap 4 reserve 1, three background: background does not", capped(4, reserve=1, background=3), BACKGROUND, "queue"),
    ("Cap 4 reserve 1, two and one: both enter", capped(4, reserve=1, interactive=2, background=1), BACKGROUND, USE),
    ("Cap 4, one and three: full for interactive", capped(4, reserve=1, interactive=1, background=3), ONE, "queue"),
    ("Cap 4, four interactive: full for background", capped(4, reserve=1, interactive=4), BACKGROUND, "queue"),
    ("Cap 4 reserve 2, one and two: interactive enters", capped(4, reserve=2, interactive=1, background=2), ONE, USE),
    (
        "Cap 4 reserve 2, one and two: background does not",
        capped(4, reserve=2, interactive=1, background=2),
        BACKGROUND,
        "queue",
    ),
    ("Without a cap the reserve means nothing", capped(None, reserve=5, background=3), BACKGROUND, USE),
    (
        "A reserve as large as the cap leaves background nothing: no option to queue on",
        capped(2, reserve=2),
        BACKGROUND,
        Wait(model="m"),
    ),
    ("A cap of zero leaves nobody anything", capped(0), ONE, Wait(model="m")),
    (
        "A held place of the own agent does not count against the cap",
        cluster(server().loaded("m").having(max_concurrent=1).ticket("n", state="planned", agent="analyst")),
        ONE,
        USE,
    ),
    (
        "The cap counts calls of every model of the server",
        cluster(server().loaded("m").loaded("n").having(max_concurrent=1).busy("n")),
        ONE,
        "queue",
    ),
    (
        "A server at its cap takes no load",
        cluster(server().loaded("n", 4096).having(max_concurrent=1).busy("n")).knowing("m", 4096),
        ONE,
        Wait(model="m"),
    ),
    (
        "A server at its cap gives up no model",
        cluster(server().total(8192).loaded("n", 4096).loaded("idle", 4096).having(max_concurrent=1).busy("n")).knowing(
            "m", 4096
        ),
        ONE,
        Wait(model="m"),
    ),
    (
        "A load on a server at its cap is queued on",
        cluster(server().having(max_concurrent=1, slots=2).loading("m", 10240)),
        ONE,
        Queue(server="gpu-1", model="m", cost_s=40.0),
    ),
]

DRAINED = server().loaded("m", slots=2).loaded("n").drained("big", victims=["m"], since=NOW - 5)
EARLIER = ONE.having(arrived_at=NOW - 6)
DRAINS = [
    ("A drain's victim takes no new call", cluster(DRAINED).knowing("big", 20480), ONE, Wait(model="m")),
    (
        "A drain leaves the server's other models alone",
        cluster(DRAINED).knowing("big", 20480),
        call().prefers("n"),
        Use(server="gpu-1", model="n"),
    ),
    (
        "Who waited before the drain began still goes first, within one load of the waiter's model",
        cluster(DRAINED).knowing("big", 20480),
        EARLIER,
        USE,
    ),
    ("After one load time nobody does", cluster(DRAINED).knowing("big", 5120), EARLIER, Wait(model="m")),
    (
        "Who arrives as the drain begins does not",
        cluster(DRAINED).knowing("big", 20480),
        ONE.having(arrived_at=NOW - 5),
        Wait(model="m"),
    ),
    (
        "A victim that loads is not joined",
        cluster(server().having(slots=2).loading("m").drained("big", victims=["m"])).knowing("big", 20480),
        ONE,
        Wait(model="m"),
    ),
    (
        "A drained copy is passed over for another one",
        cluster(DRAINED, server("gpu-2").loaded("m").having(weight=1)),
        ONE,
        Use(server="gpu-2", model="m"),
    ),
    (
        "Nothing but the drain's model is loaded there",
        cluster(server().loaded("m", 4096).drained("big", victims=["m"])).knowing("other", 1024),
        call().prefers("other"),
        Wait(model="other"),
    ),
    (
        "The drain's model is loaded there as soon as it fits",
        cluster(server().drained("big", victims=["m"])).knowing("big", 32768),
        call("drainer").prefers("big"),
        Load(server="gpu-1", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "Anybody may load the drain's model there",
        cluster(server().drained("big", victims=["m"])).knowing("big", 32768),
        call("somebody").prefers("big"),
        Load(server="gpu-1", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "The drain's own request unloads its victim once idle although agents wait for it, and pays for that",
        cluster(server().total(10240).loaded("m").drained("big", victims=["m"]))
        .knowing("big", 10240)
        .wanting("m", waiting=[NOW]),
        call("drainer").prefers("big"),
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("m",), cost_s=10.0 + 1 + 10.0),
    ),
    (
        "While its victim runs the drain's request waits",
        cluster(server().total(10240).loaded("m").busy("m").drained("big", victims=["m"])).knowing("big", 10240),
        call("drainer").prefers("big"),
        Wait(model="big"),
    ),
    (
        "A drain for another agent gives no right to the victims",
        cluster(server().total(10240).loaded("m").drained("big", victims=["m"]))
        .knowing("big", 10240)
        .wanting("m", waiting=[NOW]),
        call("somebody").prefers("big"),
        Wait(model="big"),
    ),
    (
        "A drain for the agent's other model gives no right to the victims",
        cluster(server().total(10240).loaded("m").drained("other", victims=["m"]))
        .knowing("big", 10240)
        .knowing("other", 1024)
        .wanting("m", waiting=[NOW]),
        call("drainer").prefers("big"),
        Wait(model="big"),
    ),
    (
        "A wanted model that is no victim of the drain stays",
        cluster(server().total(20480).loaded("m").loaded("kept").drained("big", victims=["m"]))
        .knowing("big", 20480)
        .wanting("kept", waiting=[NOW]),
        call("drainer").prefers("big"),
        Wait(model="big"),
    ),
    (
        "A drain's victim may also be an ordinary idle model to its request",
        cluster(server().total(20480).loaded("m").loaded("idle").drained("big", victims=["m"]))
        .knowing("big", 10240)
        .wanting("m", waiting=[NOW]),
        call("drainer").prefers("big"),
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("idle",), cost_s=11.0),
    ),
    (
        "After the preferred one was dropped, the drain must be for the one in its place",
        cluster(server().total(10240).loaded("m").drained("big", victims=["m"]))
        .knowing("huge", 99999)
        .knowing("big", 10240)
        .wanting("m", waiting=[NOW]),
        call("drainer").prefers("huge", 70).then("big", 65),
        "evict",
    ),
    (
        "A load may be joined on a server that is drained for something else",
        cluster(server().having(slots=2).loading("m").drained("big", victims=["n"])),
        ONE,
        Join(server="gpu-1", model="m", cost_s=10.0),
    ),
]

CASES = SLOTS + CAPS + DRAINS


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_who_is_let_in(built, asked, expected):
    assert taken(decide(request=asked.value, snapshot=built.at()), like=expected) == expected
