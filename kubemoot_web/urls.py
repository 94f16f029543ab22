"""All routes of the HTTP side."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("kubemoot_web.pages.urls")),
]
