"""Where an endpoint leads once its host was looked up."""

from ipaddress import ip_address

import pytest

from providers.core.addresses import leads_to, places_of, read_addresses


@pytest.mark.parametrize(
    ("answered", "read"),
    [
        (["10.0.0.5"], ["10.0.0.5"]),
        (["fd00::5", "10.0.0.9", "10.0.0.5", "10.0.0.9"], ["10.0.0.5", "10.0.0.9", "fd00::5"]),
        (["::ffff:10.0.0.5", "10.0.0.5"], ["10.0.0.5"]),
        (["fe80::1%eth0"], ["fe80::1"]),
        (["", "no address"], []),
    ],
    ids=["one", "sorted, each once, IPv4 first", "mapped", "a zone", "nonsense"],
)
def test_addresses_are_read_the_same_however_a_resolver_writes_them(answered, read):
    assert [str(address) for address in read_addresses(answered)] == read


@pytest.mark.parametrize(
    ("addresses", "own", "places"),
    [
        (["10.0.0.5", "fd00::5"], [], ("10.0.0.5", "[fd00::5]")),
        (["10.0.0.5"], ["10.0.0.5"], ("10.0.0.5", "localhost")),
        (["127.0.1.1"], ["127.0.1.1"], ("localhost",)),
        (["127.0.0.1", "::1"], [], ("localhost",)),
        ([], [], ()),
    ],
    ids=["another machine", "this machine", "this machine by its own loopback name", "loopback", "nowhere"],
)
def test_an_address_of_this_machine_is_its_loopback_too(addresses, own, places):
    """A-04: `localhost` and the address on the network are one server."""
    read = tuple(map(ip_address, addresses))

    assert places_of(addresses=read, own=map(ip_address, own)) == places


@pytest.mark.parametrize(
    ("known", "found", "after"),
    [
        ((), ("10.0.0.5",), ("10.0.0.5",)),
        (("10.0.0.5",), None, ("10.0.0.5",)),
        (("10.0.0.5",), ("10.0.0.6",), ("10.0.0.6",)),
        (("10.0.0.5",), (), ()),
        (("10.0.0.5", "localhost"), ("10.0.0.5",), ("10.0.0.5", "localhost")),
        (("10.0.0.5", "localhost"), ("10.0.0.6",), ("10.0.0.6",)),
    ],
    ids=[
        "news",
        "not looked up yet",
        "moved",
        "nowhere any more",
        "asked by a machine that it does not belong to",
        "moved away from the machine that it belonged to",
    ],
)
def test_what_is_known_gives_way_to_what_is_found_but_not_to_who_cannot_tell(known, found, after):
    assert leads_to(known=known, found=found) == after
