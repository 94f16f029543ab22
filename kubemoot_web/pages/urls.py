"""Page routes."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from kubemoot_web.pages import board, health, identity

urlpatterns = [
    path("", board.index, name="board"),
    path("start/", include("kubemoot_web.pages.start_urls")),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("login/", identity.SignIn.as_view(), name="login"),
    path("login/link/<str:token>/", identity.by_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
