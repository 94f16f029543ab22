"""Nobody starves: the oldest waiter is served within sixty seconds, the longest call and two loads, whatever comes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.play import Play, card, holds

MIB = 5120
LOAD_S = 5.0

streams = st.lists(
    st.tuples(st.sampled_from((1.0, 3.0)), st.sampled_from((0.4, 1.0, 7.0, 20.0))), min_size=1, max_size=3
)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(streams=streams, slots=st.integers(1, 2))
def test_the_cold_model_comes_in_its_time_under_any_stream_of_warm_calls(streams, slots):
    """Each server holds one model that a stream of calls keeps busy; every call waits as long as it takes."""
    names = [f"gpu-{i}" for i in range(len(streams))]
    play = Play().build(
        *(card(name, total=MIB, slots=slots) for name in names),
        holding={name: [holds(f"warm-{name}", MIB)] for name in names},
        footprints={"cold": MIB, **{f"warm-{name}": MIB for name in names}},
    )
    for name, (every_s, runs_s) in zip(names, streams, strict=True):
        for number in range(int(100 / every_s)):
            play.call(f"{name}-{number}", (f"warm-{name}", 60), at=number * every_s, runs_s=runs_s, limit_s=1000)

    play.call("x", ("cold", 60), at=1.0, limit_s=1000).until(100)

    longest = max(runs_s for _, runs_s in streams)
    assert play.served["x"].at - 1.0 <= 60 + longest + 2 * LOAD_S
