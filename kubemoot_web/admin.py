"""API tokens in Django's admin: to see who may do what since when, and to take a token away."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from kubemoot_web.models import ApiToken
from providers.admin import ReadOnlyAdmin


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens, of which nothing secret is stored. One that is deleted is refused within seconds."""

    list_display = ("name", "prefix", "scopes", "agent", "crew", "ceiling", "user", "expires_at", "last_used_at")
    search_fields = ("name", "prefix", "agent", "crew", "user__username")
    exclude = ("digest",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let an administrator take a token away: it may have leaked."""
        return super(ReadOnlyAdmin, self).has_delete_permission(request, obj)
