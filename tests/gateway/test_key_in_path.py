"""A key that a client can only put into its address."""

import pytest

from kubemoot_web.access.keys import presented_key
from kubemoot_web.gateway.key_in_path import KeyInPath

KEY = "km_0123456789ab_secret-_x"


async def reached(path: str, *headers: tuple[bytes, bytes]) -> dict:
    """Send a request and give what arrives behind the layer."""
    seen: list[dict] = []

    async def app(scope, receive, send):
        seen.append(scope)

    scope = {"type": "http", "path": path, "raw_path": path.encode(), "headers": list(headers), "method": "POST"}
    await KeyInPath(app)(scope, None, None)
    return seen[0]


@pytest.mark.parametrize(
    ("path", "served"),
    [
        (f"/key/{KEY}/api/chat", "/api/chat"),
        (f"/key/{KEY}/v1/models/hf.co/acme/tiny:8b", "/v1/models/hf.co/acme/tiny:8b"),
        (f"/key/{KEY}/", "/"),
        (f"/key/{KEY}", "/"),
    ],
)
async def test_the_key_goes_from_the_path_into_a_header(path, served):
    scope = await reached(path, (b"content-type", b"application/json"))

    assert (scope["path"], scope["raw_path"]) == (served, served.encode())
    assert presented_key(scope["headers"]) == KEY
    assert (b"content-type", b"application/json") in scope["headers"]
    assert KEY not in repr({name: value for name, value in scope.items() if name != "headers"})


@pytest.mark.parametrize("path", ["/api/v1/cluster", "/tokens", "/admin/", "/key/km_a_b/api/chat", "//api/chat"])
async def test_nothing_but_the_gateway_is_reached_so_and_nobody_after_sees_the_key(path):
    scope = await reached(f"/key/{KEY}{path}")

    assert scope["path"] == "/key/"
    assert KEY not in repr({name: value for name, value in scope.items() if name != "headers"})


@pytest.mark.parametrize("path", ["/", "/api/chat", "/key/ollama/api/chat", "/keys", "/v1/key/km_a_b"])
async def test_other_requests_pass_untouched(path):
    scope = await reached(path, (b"authorization", b"Bearer other"))

    assert (scope["path"], scope["headers"]) == (path, [(b"authorization", b"Bearer other")])


async def test_the_key_of_the_path_counts_where_a_header_holds_another():
    scope = await reached(f"/key/{KEY}/api/chat", (b"authorization", b"Bearer km_other_key"))

    assert presented_key(scope["headers"]) == KEY
