"""All routes of the HTTP side."""

from django.contrib import admin
from django.urls import include, path

from kubemoot_web.api.metrics import metrics
from kubemoot_web.api.root import api
from kubemoot_web.pages import identity

admin.autodiscover()
admin.site.site_header = admin.site.site_title = "Kubemoot administration"

urlpatterns = [
    path("admin/login/", identity.before_admin),  # in place of the admin's own, where guessing is not slowed
    path("admin/", admin.site.urls),
    path("api/v1/", api.urls),
    path("metrics", metrics),
    path("", include("kubemoot_web.pages.urls")),
]
