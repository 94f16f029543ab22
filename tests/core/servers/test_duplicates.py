"""A-06: which servers may be one engine under two names."""

import pytest

from scheduler.core.duplicates import Duplicate, duplicates_of, duplicates_with
from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.messages.duplicates import more_duplicates, possible_duplicate


def records(**servers: tuple[str, tuple[str, ...]]) -> dict[str, ServerRecord]:
    """Make servers of their endpoints and where these lead."""
    return {
        name: ServerRecord(
            config=ServerConfig(name=name, kind="ollama", endpoint=endpoint), seen=ServerSeen(addresses=addresses)
        )
        for name, (endpoint, addresses) in servers.items()
    }


@pytest.mark.parametrize(
    ("a", "b", "address"),
    [
        (("http://box:11434", ("10.0.0.5",)), ("http://gpu:11434", ("10.0.0.5",)), "10.0.0.5:11434"),
        (("http://box:11434", ("10.0.0.5",)), ("http://10.0.0.5:11434", ()), "10.0.0.5:11434"),
        (("http://box", ("10.0.0.5", "[fd00::5]")), ("http://gpu", ("10.0.0.6", "[fd00::5]")), "[fd00::5]:80"),
        (("http://box:11434", ("localhost",)), ("http://localhost:11434", ("localhost",)), "localhost:11434"),
        (("http://10.0.0.5:1", ("10.0.0.5", "localhost")), ("http://127.0.0.1:1", ()), "localhost:1"),
        (("http://box:443", ("10.0.0.5",)), ("https://box", ("10.0.0.5",)), "10.0.0.5:443"),
        (("http://localhost:1", ("localhost",)), ("https://localhost:1", ("localhost",)), "localhost:1"),
        (("http://a/gpu0", ("10.0.0.5",)), ("http://b/gpu0/v1", ("10.0.0.5",)), "10.0.0.5:80/gpu0"),
        (("http://p/gpu0", ("10.0.0.5",)), ("http://p/gpu1", ("10.0.0.5",)), None),
        (("http://box:11434", ("10.0.0.5",)), ("http://box:11435", ("10.0.0.5",)), None),
        (("http://box:11434", ("10.0.0.5",)), ("https://box:443", ("10.0.0.5",)), None),
        (("http://box:11434", ("10.0.0.5",)), ("http://gpu:11434", ("10.0.0.6",)), None),
        (("http://box:11434", ()), ("http://gpu:11434", ()), None),
        (("http://localhost:1", ("localhost",)), ("http://127.0.0.1:1", ("localhost",)), None),
        (("nonsense", ("10.0.0.5",)), ("http://gpu", ("10.0.0.5",)), None),
    ],
    ids=[
        "two names of one machine",
        "a name and its address",
        "one of several addresses",
        "a name of this machine and its loopback",
        "this machine's address and its loopback",
        "http and https on one port",
        "http and https on one port of this machine",
        "the same place behind one proxy",
        "two places behind one proxy",
        "two ports",
        "http and https on their own ports",
        "two machines",
        "nothing is known yet",
        "loopback read on two machines: on one it would be one identity",
        "no address",
    ],
)
def test_two_servers_that_lead_to_one_port_may_be_one(a, b, address):
    expected = () if address is None else (Duplicate(first="a", second="b", address=address),)

    assert duplicates_of(records=records(a=a, b=b)) == expected
    assert duplicates_of(records=records(b=b, a=a)) == expected


def test_of_three_names_for_one_engine_each_pair_is_named_once():
    place = ("10.0.0.5", "[fd00::5]")
    known = records(c=("http://c:1", place), a=("http://a:1", place), b=("http://b:1", place), d=("http://d:2", place))

    pairs = [(pair.first, pair.second, pair.address) for pair in duplicates_of(records=known)]

    assert pairs == [("a", "b", "10.0.0.5:1"), ("a", "c", "10.0.0.5:1"), ("b", "c", "10.0.0.5:1")]
    assert [pair.other("b") for pair in duplicates_with(records=known, server="b")] == ["a", "c"]
    assert duplicates_with(records=known, server="d") == ()


def test_the_warning_names_both_what_they_share_and_what_to_do():
    pair = Duplicate(first="gpu-1", second="team/gpu-2", address="10.0.0.5:11434")

    assert possible_duplicate(pair=pair) == (
        "Possible duplicate endpoint: gpu-1 and team/gpu-2 both lead to 10.0.0.5:11434, so one engine may be counted "
        "twice. If it is one, keep one of them and merge the other into it; if a proxy there tells them apart by their "
        "names, leave both."
    )


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (3, ""),
        (4, "1 more pair of servers may be one engine each."),
        (9, "6 more pairs of servers may be one engine each."),
    ],
)
def test_pairs_that_are_not_named_are_counted(count, says):
    pair = Duplicate(first="a", second="b", address="10.0.0.5:1")

    assert more_duplicates(pairs=[pair] * count) == says
