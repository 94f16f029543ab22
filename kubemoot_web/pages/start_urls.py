"""Routes of the first steps, under `/start/`."""

from django.urls import path

from kubemoot_web.pages import first_call, start

urlpatterns = [
    path("", start.servers, name="start"),
    path("check/", start.check, name="start-check"),
    path("call/", first_call.place, name="start-call"),
    path("call/token/", first_call.token, name="start-token"),
    path("call/<str:waiter>/", first_call.wait, name="start-wait"),
    path("server/<path:name>/models/", start.models, name="start-models"),
]
