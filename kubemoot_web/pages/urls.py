"""Page routes."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path, re_path

from kubemoot_web.pages import board, calls, connect, details, endpoints, health, identity, tokens

urlpatterns = [
    path("", board.index, name="board"),
    re_path(r"^servers/?$", details.servers, name="servers"),
    path("servers/<path:name>", details.server, name="server"),
    re_path(r"^endpoints/?$", endpoints.endpoints, name="endpoints"),
    path("endpoints/<path:name>", endpoints.endpoint, name="endpoint"),
    re_path(r"^models/?$", details.models, name="models"),
    path("models/<path:name>", details.model, name="model"),
    re_path(r"^waiting/?$", details.waiting, name="waiting"),
    re_path(r"^calls/?$", calls.calls, name="calls"),
    path("calls/<str:id>", calls.call, name="call"),
    re_path(r"^connect/?$", connect.connect, name="connect"),
    path("connect/key", connect.key, name="connect-key"),
    re_path(r"^tokens/?$", tokens.tokens, name="tokens"),
    path("tokens/revoke", tokens.revoke, name="token-revoke"),
    path("start/", include("kubemoot_web.pages.start_urls")),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("login/", identity.SignIn.as_view(), name="login"),
    path("login/link/<str:token>/", identity.by_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
