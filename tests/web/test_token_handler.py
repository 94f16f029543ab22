"""Which requests skip what is made for browsers."""

import pytest

from kubemoot_web.api.token_handler import is_of_program

TOKEN = (b"authorization", b"Bearer x")
COOKIE = (b"cookie", b"sessionid=x")


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/api/v1/tickets", [TOKEN], True),
        ("/api/v1/tickets", [], False),
        ("/api/v1/tickets", [TOKEN, COOKIE], False),
        ("/api/v1/tickets", [COOKIE], False),
        ("/", [TOKEN], False),
        ("/admin/", [TOKEN], False),
    ],
    ids=[
        "a program with its token",
        "nobody",
        "a token and a session: the session must be checked",
        "a person",
        "a page",
        "another page",
    ],
)
def test_only_a_token_without_a_cookie_makes_a_program(path, headers, expected):
    assert is_of_program({"path": path, "headers": headers}) is expected
