"""Who may open a live socket. C82: the browser sends its cookie from any page, so the page's origin must count."""

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from kubemoot_web.asgi import application

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]


@pytest.mark.parametrize(
    ("origin", "is_signed_in", "is_accepted"),
    [
        ("http://localhost", True, True),
        ("https://evil.example.net", True, False),
        ("http://localhost", False, False),
    ],
)
async def test_a_socket_needs_our_origin_and_a_session(origin, is_signed_in, is_accepted):
    headers = [(b"origin", origin.encode()), (b"host", b"localhost")]
    if is_signed_in:
        client = Client()
        user = await User.objects.acreate(username="ada")
        await client.aforce_login(user)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
    socket = WebsocketCommunicator(application, "/ws/board/", headers=headers)

    accepted, _ = await socket.connect()

    await socket.disconnect()
    assert accepted is is_accepted
