"""Nobody starves: the oldest waiter is served within sixty seconds, the longest call and two loads, whatever comes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.core.specs import ResourceGroup
from tests.core.play import Play, card, holds

MIB = 5120
LOAD_S = 5.0

streams = st.lists(
    st.tuples(st.sampled_from((1.0, 3.0)), st.sampled_from((0.4, 1.0, 7.0, 20.0))), min_size=1, max_size=3
)


limits = st.sampled_from(
    (
        {"max_concurrent": 1},
        {"max_concurrent": 2},
        {"resource_group": ResourceGroup(name="bus", max_concurrent=1)},
        {"resource_group": ResourceGroup(name="bus", max_concurrent=2)},
    )
)


def waited_s(streams, *, slots, total=MIB, **limit):
    """Play servers that each hold one model which a stream of calls keeps busy, and one call for a cold model."""
    names = [f"gpu-{i}" for i in range(len(streams))]
    play = Play().build(
        *(card(name, total=total, slots=slots, **limit) for name in names),
        holding={name: [holds(f"warm-{name}", MIB)] for name in names},
        footprints={"cold": MIB, **{f"warm-{name}": MIB for name in names}},
    )
    for name, (every_s, runs_s) in zip(names, streams, strict=True):
        for number in range(int(100 / every_s)):
            play.call(f"{name}-{number}", (f"warm-{name}", 60), at=number * every_s, runs_s=runs_s, limit_s=1000)
    play.call("x", ("cold", 60), at=1.0, limit_s=1000).until(100)
    return play.served["x"].at - 1.0


@settings(max_examples=10, derandomize=True)
@given(streams=streams, slots=st.integers(1, 2))
def test_the_cold_model_comes_in_its_time_under_any_stream_of_warm_calls(streams, slots):
    """Every call waits as long as it takes."""
    longest = max(runs_s for _, runs_s in streams)

    assert waited_s(streams, slots=slots) <= 60 + longest + 2 * LOAD_S


@settings(max_examples=10, derandomize=True)
@given(streams=streams, limit=limits, total=st.sampled_from((MIB, 2 * MIB)))
def test_so_it_does_where_a_cap_keeps_it_out_with_or_without_free_memory(streams, limit, total):
    """A load needs a place under the cap, the server's or its group's, and each place that frees suits a warm call."""
    longest = max(runs_s for _, runs_s in streams)

    assert waited_s(streams, slots=2, total=total, **limit) <= 60 + longest + 2 * LOAD_S
