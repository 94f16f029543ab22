"""Servers and models in Django's admin: to look at.

What changes them goes through the services, which the admin's own forms would go around: `manage.py apply`, the REST
API, and the pages that use the same services.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from providers.models import EndpointAlias, Model, ModelServer


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # generic in the stubs alone
    """Rows to look at: nothing is added, changed or deleted here."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - the hook
        """Add nothing."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the hook
        """Change nothing."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the hook
        """Delete nothing."""
        return False


class ResourceAdmin(ReadOnlyAdmin):
    """A kind of resource of which the admin knows nothing special."""

    list_display = ("name", "namespace", "resource_version", "changed_at")
    list_filter = ("namespace",)
    search_fields = ("name", "namespace")


@admin.register(ModelServer)
class ModelServerAdmin(ReadOnlyAdmin):
    """Servers with their addresses."""

    list_display = ("name", "namespace", "kind", "endpoint", "changed_at")
    search_fields = ("name", "namespace", "endpoint_key")

    @admin.display(description="engine")
    def kind(self, row: ModelServer) -> str:
        """Name the engine."""
        return str(row.spec.get("type", ""))

    @admin.display
    def endpoint(self, row: ModelServer) -> str:
        """Show the address."""
        return str(row.spec.get("endpoint", ""))


@admin.register(EndpointAlias)
class EndpointAliasAdmin(ReadOnlyAdmin):
    """Addresses that mean another one."""

    list_display = ("alias_key", "canonical_key", "created_at")
    search_fields = ("alias_key", "canonical_key")


@admin.register(Model)
class ModelAdmin(ReadOnlyAdmin):
    """Models with what policies select them by."""

    list_display = ("name", "namespace", "identifier", "told", "changed_at")
    list_filter = ("namespace",)
    search_fields = ("name", "namespace")

    @admin.display
    def identifier(self, row: Model) -> str:
        """Show the identifier."""
        return str(row.spec.get("model", ""))

    @admin.display(description="labels")
    def told(self, row: Model) -> str:
        """List the labels."""
        return ", ".join(f"{key}={value}" for key, value in sorted(row.labels.items()))
