"""Looking up where endpoints lead, beside everything else."""

import socket
import threading

import pytest

from providers.clients.resolver import EVERY_S, MOST_AT_ONCE, HostResolver
from tests.fakes.manual_clock import ManualClock

LONGEST_S = 5.0


class Names:
    """A name server by hand: it answers when it is let."""

    def __init__(self, **names: list[str]) -> None:
        self.names = names
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.asked: list[str] = []
        self.at_once = 0
        self._lock = threading.Lock()
        self._now = 0

    def __call__(self, host: str) -> list[str]:
        with self._lock:
            self.asked.append(host)
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        self.may_answer.wait(LONGEST_S)
        with self._lock:
            self._now -= 1
        if host not in self.names:
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return self.names[host]


@pytest.fixture
def names():
    found = Names(gpu=["10.0.0.5"], box=["127.0.1.1"])
    yield found
    found.may_answer.set()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def resolver(names, clock):
    return HostResolver(look_up=names, is_own=lambda address: False, clock=clock)


def settled(resolver: HostResolver) -> None:
    """Wait until nothing is looked up any more."""
    for thread in threading.enumerate():
        if thread.name == "look up hosts":
            thread.join(LONGEST_S)


def test_nobody_waits_for_a_look_up_and_the_next_one_to_ask_is_told(resolver, names):
    names.may_answer.clear()

    assert resolver.addresses(endpoint="http://gpu:11434/v1") is None
    assert resolver.addresses(endpoint="http://gpu:11434") is None
    names.may_answer.set()
    settled(resolver)

    assert resolver.addresses(endpoint="http://gpu:11434") == ("10.0.0.5",)
    assert names.asked == ["gpu"], "who asks meanwhile asks no second time"


def test_an_answer_is_good_for_a_minute(resolver, names, clock):
    resolver.addresses(endpoint="http://gpu")
    settled(resolver)
    clock.advance(EVERY_S - 1)
    names.names["gpu"] = ["10.0.0.6"]
    assert resolver.addresses(endpoint="http://gpu") == ("10.0.0.5",)
    clock.advance(1)
    names.may_answer.clear()
    assert resolver.addresses(endpoint="http://gpu") == ("10.0.0.5",), "until the new answer is there, the old one is"
    names.may_answer.set()
    settled(resolver)

    assert resolver.addresses(endpoint="http://gpu") == ("10.0.0.6",)
    assert names.asked == ["gpu", "gpu"]


def test_a_name_server_that_is_away_takes_back_nothing(resolver, names, clock):
    resolver.addresses(endpoint="http://gpu")
    settled(resolver)
    del names.names["gpu"]
    clock.advance(EVERY_S)
    resolver.addresses(endpoint="http://gpu")
    settled(resolver)

    assert resolver.addresses(endpoint="http://gpu") == ("10.0.0.5",)
    assert resolver.addresses(endpoint="http://nobody") is None
    settled(resolver)
    assert resolver.addresses(endpoint="http://nobody") is None
    assert names.asked == ["gpu", "gpu", "nobody"], "a failure is not asked for again at once either"


def test_names_that_hang_hold_few_threads_and_the_others_come_after_them(resolver, names):
    names.names |= {f"h{number}": [f"10.1.0.{number}"] for number in range(10)}
    names.may_answer.clear()
    for number in range(10):
        assert resolver.addresses(endpoint=f"http://h{number}") is None
    names.may_answer.set()
    settled(resolver)

    found = [resolver.addresses(endpoint=f"http://h{number}") for number in range(10)]
    assert found == [(f"10.1.0.{number}",) for number in range(10)]
    assert names.at_once <= MOST_AT_ONCE


@pytest.mark.parametrize(
    ("endpoint", "places"),
    [
        ("http://10.0.0.5:11434", ("10.0.0.5",)),
        ("http://[fd00::5]", ("[fd00::5]",)),
        ("http://127.0.0.1:11434", ("localhost",)),
        ("no address", None),
    ],
)
def test_an_address_is_its_own_answer(resolver, names, endpoint, places):
    assert resolver.addresses(endpoint=endpoint) == places
    assert names.asked == []


def test_the_system_s_own_resolver_is_asked_and_this_machine_knows_its_own_addresses():
    resolver = HostResolver()

    resolver.addresses(endpoint="http://localhost:11434")
    settled(resolver)

    assert resolver.addresses(endpoint="http://localhost:11434") == ("localhost",)
    assert resolver.addresses(endpoint="http://192.0.2.1") == ("192.0.2.1",), "an address that nobody has"
