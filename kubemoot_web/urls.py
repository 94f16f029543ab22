"""All routes of the HTTP side."""

from django.contrib import admin
from django.urls import include, path

from kubemoot_web.api.root import api

admin.autodiscover()

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", api.urls),
    path("", include("kubemoot_web.pages.urls")),
]
