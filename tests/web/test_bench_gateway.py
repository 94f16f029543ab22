"""What the gateway bench counts is really so; how fast anything was is nobody's business here."""

import pytest

from kubemoot_web.management.benches import gateway_figures
from kubemoot_web.management.benches.apart import apart, done_apart
from kubemoot_web.management.benches.contenders import DIRECT, KUBEMOOT, LITELLM, NGINX, RELAY
from kubemoot_web.management.benches.fast_engine import fast_engine, next_request
from kubemoot_web.management.benches.figures import Better
from kubemoot_web.management.benches.gateway import GatewayBench
from kubemoot_web.management.benches.gateway_figures import Rate
from kubemoot_web.management.benches.http_callers import Target, at_a_pace, flat_out, is_whole, request
from kubemoot_web.management.benches.http_streams import listen
from kubemoot_web.management.benches.litellm_proxy import NotThere, installed
from kubemoot_web.management.benches.table import document, table

ASKED = request(Target(port=1, headers={"authorization": "Bearer k"}), tokens=3)
BODY = ASKED.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(
    ("held", "cut"),
    [
        (b"", None),
        (ASKED[:40], None),
        (ASKED[:-1], None),
        (ASKED, (BODY, b"")),
        (ASKED + ASKED[:40], (BODY, ASKED[:40])),
        (b"GET / HTTP/1.1\r\n\r\n", (b"", b"")),
    ],
    ids=["nothing", "half a head", "half a body", "one", "one and a half", "no body"],
)
def test_the_engine_reads_a_request_when_it_is_whole(held, cut):
    assert next_request(held) == cut


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-le", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", True),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", False),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", True),
    ],
)
def test_a_caller_knows_when_an_answer_is_whole(answer, whole):
    assert is_whole(answer) is whole


def test_callers_and_listeners_hear_the_engine_out():
    with fast_engine() as port:
        target = Target(port=port)
        count, took = done_apart(flat_out, target, 2, 0.05, 3)
        paced = done_apart(at_a_pace, target, 100.0, 0.05, 3)
        heard = done_apart(listen, target, 3, 4, 5)

    assert count > 0
    assert took >= 0.05
    assert len(paced) == 5
    assert (len(heard.late_ms), heard.spoilt) == (12, 0)


async def _breaks():
    raise RuntimeError("no luck")


async def _ends():
    raise SystemExit


@pytest.mark.parametrize(("job", "problem"), [(_breaks, "no luck"), (_ends, "ended early")])
def test_a_job_that_fails_ends_the_bench(job, problem):
    with apart(job) as helper, pytest.raises(RuntimeError, match=problem):
        helper.result()


def test_runs_are_taken_together():
    rate = Rate(count=100, seconds=1.0, cpu_s=0.05) + Rate(count=300, seconds=1.0, cpu_s=0.15)

    assert (rate.per_s, rate.cpu_us, rate.per_core_s) == (200.0, pytest.approx(500.0), pytest.approx(2000.0))
    assert Rate(count=0, seconds=1.0, cpu_s=0.0).per_core_s == 0.0


def test_what_a_way_adds_is_told_beside_what_the_least_relay_adds():
    samples = {DIRECT: [0.25], NGINX: [0.375], RELAY: [0.5], LITELLM: [8.25], KUBEMOOT: [1.0]}

    figures = {figure.measure: figure for figure in gateway_figures.latency(case="calm", samples=samples)}

    adds = figures["Kubemoot adds, median"]
    assert (adds.value, adds.goal, adds.floor.value) == (0.75, 1.0, 0.25)
    assert figures["LiteLLM, p99"].value == 8.25
    ratio = figures["adds, to what LiteLLM adds"]
    assert (ratio.value, ratio.goal, ratio.is_reached) == (0.75 / 8, 0.2, True)


def test_what_a_busy_machine_turned_round_is_no_floor():
    samples = {DIRECT: [0.5], RELAY: [0.25], KUBEMOOT: [1.0]}

    figures = {figure.measure: figure for figure in gateway_figures.latency(case="busy", samples=samples)}

    assert figures["Kubemoot adds, median"].floor is None


def test_calls_are_compared_where_litellm_is_there():
    def rate(count):
        return Rate(count=count, seconds=1.0, cpu_s=0.5)

    rates = {DIRECT: rate(9000), LITELLM: rate(100), KUBEMOOT: rate(1600)}

    figures = {
        figure.measure: figure for figure in gateway_figures.throughput(case="many", rates=rates, valkey_cpu_s=0.16)
    }

    assert {measure: figure.value for measure, figure in figures.items()} == pytest.approx(
        {
            "LiteLLM": 100.0,
            "Kubemoot": 1600.0,
            "CPU of LiteLLM": 5000.0,
            "CPU of Kubemoot": 312.5,
            "CPU of Valkey": 100.0,
            "Kubemoot's calls to LiteLLM's": 16.0,
        }
    )
    assert all(figures[name].is_reached for name in ("Kubemoot", "CPU of Kubemoot", "Kubemoot's calls to LiteLLM's"))


def test_who_is_not_there_has_a_row_that_says_why(tmp_path):
    figures = list(gateway_figures.left_out({NGINX: "not installed: apt-get install nginx"}))

    assert "nginx  not installed: apt-get install nginx  -" in table(figures)
    assert document(bench="gateway", figures=figures)["figures"][0]["value"] is None
    assert figures[0].is_reached is None


def test_an_environment_that_cannot_be_made_is_no_reason_to_fail(tmp_path):
    (tmp_path / "litellm").write_text("a file is in the way")

    with pytest.raises(NotThere, match="pip install"):
        installed(folder=tmp_path / "litellm")


@pytest.mark.e2e
def test_every_goal_has_a_figure():
    options = {
        "seconds": 0.4,
        "rounds": 1,
        "callers": 4,
        "streams": 5,
        "leavers": 2,
        "without_litellm": True,
    }

    figures = GatewayBench().run(options=options, progress=lambda _: None)

    goals = {figure.measure: (figure.goal, figure.better) for figure in figures if figure.goal is not None}
    assert goals == {
        "Kubemoot adds, median": (1.0, Better.LOWER),
        "Kubemoot adds, p99": (5.0, Better.LOWER),
        "Kubemoot": (1500.0, Better.HIGHER),
        "CPU of Kubemoot": (1e6 / 1500, Better.LOWER),
        "Kubemoot, per core": (15_000.0, Better.HIGHER),
        "with a piece lost or swapped": (0, Better.LOWER),
        "pieces later than the next was sent": (0, Better.LOWER),
        "memory of each": (40.0, Better.LOWER),
        "slot free, p99": (100.0, Better.LOWER),
    }
    assert [figure.case for figure in figures if figure.value is None][-1] == LITELLM
