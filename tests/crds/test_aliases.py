"""A-06, A-08: addresses that an operator said are one, against whatever is registered."""

import pytest
from asgiref.sync import async_to_sync

from providers.core.endpoint_aliases import AliasRefused, AliasUnknown, AliasUnreadable
from providers.models import EndpointAlias, ModelServer
from scheduler.services.endpoint_aliases import Alias, alias_add, alias_remove, aliases_list, server_alias_add
from tests.crds.documents import NOW, apply, bundle, refusal, server

pytestmark = pytest.mark.django_db(transaction=True)

HTTP = server("gpu-1", endpoint="http://box-a:11434")
HTTPS = server("gpu-2", endpoint="https://box-a:11434")
LEFT = server("gpu-1", endpoint="http://proxy:80/gpu0/v1")
RIGHT = server("gpu-2", endpoint="http://proxy:80/gpu1/v1")


def add(alias, canonical, node="n1") -> Alias:
    return async_to_sync(alias_add)(alias=alias, canonical=canonical, node=node, now=NOW)


def remove(alias) -> str:
    return async_to_sync(alias_remove)(alias=alias, node="n1")


@pytest.mark.parametrize(
    ("first", "second", "alias", "canonical"),
    [
        (HTTP, HTTPS, "https://box-a:11434", "http://box-a:11434"),
        (HTTPS, HTTP, "https://box-a:11434", "http://box-a:11434"),
        (LEFT, RIGHT, "http://proxy/gpu1", "http://proxy/gpu0"),
    ],
    ids=["https by its alias", "http, of which https is an alias", "two paths of one proxy"],
)
def test_what_is_two_servers_is_one_once_it_is_aliased(first, second, alias, canonical):
    name = "gpu-1" if first in (HTTP, LEFT) else "gpu-2"
    apply(first)
    made = add(alias, canonical)

    refused = refusal(second)

    assert made.server == name
    assert f"is another address of {name}, registered already ({made.alias} is an alias)" in refused
    assert "spec.endpoint" in refused
    remove(alias)
    apply(second)
    assert ModelServer.objects.count() == 2


def test_a_server_that_is_changed_is_held_to_the_aliases_too():
    apply(bundle(server("a", endpoint="http://a:1"), server("b", endpoint="http://b:1")))
    add("http://c:1", "http://a:1")

    assert "is another address of a" in refusal(server("b", endpoint="http://c:1"))
    apply(server("a", endpoint="http://c:1"))
    assert "is another address of a" in refusal(server("b", endpoint="http://a:1"))


def test_two_servers_of_one_file_are_held_to_the_aliases_too():
    add("http://c:1", "http://a:1")

    text = bundle(server("a", endpoint="http://a:1"), server("c", endpoint="http://c:1"))

    assert "is another address of a" in refusal(text)
    assert not ModelServer.objects.exists()


def test_two_registered_servers_are_not_made_one_by_an_alias():
    apply(bundle(HTTP, HTTPS))

    with pytest.raises(AliasRefused, match="would make gpu-1 and gpu-2 one server, and both are registered: merge"):
        add("https://box-a:11434", "http://box-a:11434")

    assert not EndpointAlias.objects.exists()


def test_loopback_is_read_on_the_node_that_is_asked_or_as_it_was_written_down():
    apply(server("gpu-1", endpoint="http://localhost:11434"), node="n1")

    assert add("http://box:11434", "http://127.0.0.1:11434", node="n1").server == "gpu-1"
    assert add("http://wall:11434", "http://127.0.0.1:11434", node="n2").server == ""
    assert add("http://hall:11434", "http://localhost@n1:11434", node="n2").server == "gpu-1"


def test_aliases_are_listed_with_the_server_that_they_mean_and_removed_by_any_spelling():
    apply(HTTP)
    for _ in range(2):
        made = async_to_sync(server_alias_add)(server="gpu-1", alias="https://BOX-A:11434/v1", node="n1", now=NOW)
    add("http://b:1", "http://a:1")

    listed = async_to_sync(aliases_list)()

    assert made == Alias(alias="https://box-a:11434", canonical="http://box-a:11434", server="gpu-1", created_at=NOW)
    assert listed == (Alias(alias="http://b:1", canonical="http://a:1", server="", created_at=NOW), made)
    assert remove("HTTPS://box-a:11434/") == "https://box-a:11434"
    with pytest.raises(AliasUnknown):
        remove("https://box-a:11434")


@pytest.mark.parametrize(
    ("alias", "canonical", "field"), [("box", "http://a", "alias"), ("http://a", "http://u:s3cret@h", "canonical")]
)
def test_what_is_no_address_is_refused_by_its_field_and_never_repeated(alias, canonical, field):
    with pytest.raises(AliasUnreadable) as refused:
        add(alias, canonical)

    assert refused.value.field == field
    assert "s3cret" not in str(refused.value)
    assert "secretRef" not in str(refused.value), "an alias has none"


def test_what_is_asked_to_be_removed_may_be_a_password_and_is_not_repeated():
    with pytest.raises(AliasUnknown) as unknown:
        remove("http://u:s3cret@h")

    assert "s3cret" not in str(unknown.value)
