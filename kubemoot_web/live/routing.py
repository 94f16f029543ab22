"""WebSocket routes."""

from django.urls import URLPattern, path, re_path

from kubemoot_web.live.consumers import BoardConsumer, NoSuchSocket

websocket_urlpatterns: list[URLPattern] = [
    path("ws/board/", BoardConsumer.as_asgi()),
    re_path("", NoSuchSocket.as_asgi()),
]
