"""Identities that an operator said are one: `alias -> canonical`, never further (A-06)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.core.endpoint_aliases import AliasRefused, canonical_key, check_alias, merged_aliases
from providers.core.endpoint_key import EndpointRefused, read_key
from providers.services.servers import EndpointTaken, server_keys

A, B, C = "http://a:1", "http://b:1", "http://c:1"


@pytest.mark.parametrize(
    ("aliases", "servers", "after"),
    [
        ({}, {}, {A: B}),
        ({A: B}, {}, {A: B}),
        ({C: B}, {}, {A: B, C: B}),
        ({}, {"gpu-1": A}, {A: B}),
        ({}, {"gpu-1": B, "gpu-2": C}, {A: B}),
    ],
    ids=["first", "again", "a second address of one", "of a server that has the alias", "of a registered server"],
)
def test_an_alias_leads_to_an_endpoint(aliases, servers, after):
    assert check_alias(alias=A, canonical=B, aliases=aliases, servers=servers) == after


@pytest.mark.parametrize(
    ("alias", "canonical", "aliases", "servers", "field", "message"),
    [
        (A, A, {}, {}, "alias", "is the same endpoint already, however it is spelled"),
        (A, B, {A: C}, {}, "alias", f"leads to {C} already: remove that alias first"),
        (A, B, {B: C}, {}, "canonical", f"is an alias itself, of {C}: name that one instead"),
        (A, B, {B: A}, {}, "canonical", f"is an alias itself, of {A}: name that one instead"),
        (A, B, {C: A}, {}, "alias", f"is what {C} leads to: remove that alias first"),
        (
            A,
            B,
            {},
            {"gpu-2": A, "gpu-1": B},
            "alias",
            "would make gpu-1 and gpu-2 one server, and both are registered: merge one of them into the other, or "
            "delete one of them first",
        ),
        (
            A,
            B,
            {C: B},
            {"gpu-1": A, "gpu-2": C},
            "alias",
            "would make gpu-1 and gpu-2 one server, and both are registered: merge one of them into the other, or "
            "delete one of them first",
        ),
    ],
    ids=["itself", "two ways", "a chain", "a circle", "a chain from behind", "both registered", "through an alias"],
)
def test_what_would_lead_further_or_make_two_servers_one_is_refused(alias, canonical, aliases, servers, field, message):
    with pytest.raises(AliasRefused) as refused:
        check_alias(alias=alias, canonical=canonical, aliases=aliases, servers=servers)

    assert (refused.value.field, refused.value.message) == (field, message)


keys = st.sampled_from([f"http://h{number}:1" for number in range(6)])


@given(st.lists(st.tuples(keys, keys, st.booleans()), max_size=12))
def test_whatever_is_said_in_whatever_order_no_alias_leads_to_another_one(steps):
    aliases: dict[str, str] = {}
    for alias, canonical, is_merge in steps:
        same = canonical_key(key=alias, aliases=aliases) == canonical_key(key=canonical, aliases=aliases)
        if is_merge and not same:  # servers that are merged were two
            aliases = merged_aliases(alias=alias, canonical=canonical, aliases=aliases)
            assert canonical_key(key=alias, aliases=aliases) == canonical_key(key=canonical, aliases=aliases)
        elif not is_merge:
            try:
                aliases = dict(check_alias(alias=alias, canonical=canonical, aliases=aliases, servers={}))
            except AliasRefused:
                continue

    assert not set(aliases) & set(aliases.values())


@pytest.mark.parametrize(
    ("aliases", "after"),
    [
        ({}, {A: B}),
        ({C: A}, {A: B, C: B}),
        ({A: C}, {A: B, C: B}),
        ({B: C}, {A: C, B: C}),
    ],
    ids=["plain", "with what led to it", "with what it led to", "to where the other one leads"],
)
def test_merging_takes_along_whatever_was_the_same(aliases, after):
    assert merged_aliases(alias=A, canonical=B, aliases=aliases) == after


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("HTTP://Box-A:11434/v1/", "http://box-a:11434"),
        (" http://127.0.0.1:11434 ", "http://localhost@n1:11434"),
        ("http://localhost@n2:11434/gpu0", "http://localhost@n2:11434/gpu0"),
        ("https://proxy:443/gpu1", "https://proxy:443/gpu1"),
    ],
)
def test_an_identity_is_read_from_an_address_or_as_it_was_written_down(text, key):
    assert read_key(text=text, node="n1") == key
    assert read_key(text=key, node="another") == key


@pytest.mark.parametrize(
    "text", ["http://me:s3cret@localhost@n1:1", "http://a@b:1", "localhost@n1:1", "", "http://h?x"]
)
def test_what_is_neither_is_refused_and_never_repeated(text):
    with pytest.raises(EndpointRefused) as refused:
        read_key(text=text, node="n1")

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("registered", "endpoint", "aliases", "alias"),
    [
        ({"gpu-1": "http://a:1"}, "http://a:1/v1", {}, ""),
        ({"gpu-1": "http://a:1"}, "http://b:1", {"http://b:1": "http://a:1"}, "http://b:1"),
        ({"gpu-1": "http://b:1"}, "http://a:1", {"http://b:1": "http://a:1"}, "http://b:1"),
        ({"gpu-1": "http://c:1"}, "http://b:1", {"http://b:1": "http://a:1", "http://c:1": "http://a:1"}, "http://b:1"),
        ({"gpu-1": "http://p:80/gpu0"}, "http://p/gpu1", {"http://p:80/gpu1": "http://p:80/gpu0"}, "http://p:80/gpu1"),
        ({"gpu-1": "http://b:1"}, "https://b:1", {"https://b:1": "http://b:1"}, "https://b:1"),
    ],
    ids=["the same", "by its alias", "what an alias of it means", "two aliases of one", "a proxy's paths", "https"],
)
def test_a_second_server_is_refused_however_it_is_known_to_be_the_first(registered, endpoint, aliases, alias):
    _, taken = server_keys(registered=registered, endpoints={"gpu-2": endpoint}, node="n1", aliases=aliases)

    assert taken == (EndpointTaken(server="gpu-2", first="gpu-1", alias=alias),)


def test_a_server_keeps_a_key_of_its_own_although_it_is_an_alias():
    """Once the alias is removed it stands for itself again."""
    aliases = {"http://b:1": "http://a:1"}

    keys, taken = server_keys(registered={}, endpoints={"gpu-1": "http://b:1"}, node="n1", aliases=aliases)

    assert (keys, taken) == ({"gpu-1": "http://b:1"}, ())
