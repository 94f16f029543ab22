"""Crews, agents, policies and the history of calls in Django's admin: to look at, for the reason given in providers."""

from django.contrib import admin

from providers.admin import ReadOnlyAdmin, ResourceAdmin
from scheduler.models import (
    Agent,
    Attempt,
    Call,
    Crew,
    CrewSchedulingPolicy,
    MootArchetype,
    PromptModule,
    ServerEvent,
)

admin.site.register(Crew, ResourceAdmin)
admin.site.register(PromptModule, ResourceAdmin)
admin.site.register(MootArchetype, ResourceAdmin)


@admin.register(Agent)
class AgentAdmin(ReadOnlyAdmin):
    """Agents with their crews and whether they can be scheduled."""

    list_display = ("name", "namespace", "crew", "phase", "changed_at")
    list_filter = ("namespace", "crew")
    search_fields = ("name", "namespace", "crew")

    @admin.display
    def phase(self, row: Agent) -> str:
        """Say how it is."""
        return str(row.status.get("phase", ""))


@admin.register(CrewSchedulingPolicy)
class CrewSchedulingPolicyAdmin(ReadOnlyAdmin):
    """Policies with the crews that they are for."""

    list_display = ("name", "namespace", "crew", "changed_at")
    search_fields = ("name", "namespace", "crew")


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    """Calls, newest first, as the journal told them. There is never a word of a prompt."""

    list_display = ("arrived_at", "agent", "model", "server", "action", "state", "outcome", "reason")
    list_filter = ("state", "outcome", "action", "priority")
    search_fields = ("id", "agent", "crew", "model", "server", "thread")
    date_hierarchy = "arrived_at"
    show_full_result_count = False
    list_per_page = 50


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    """Attempts of calls, newest first: what each contact with a server came to."""

    list_display = ("queued_at", "call", "number", "server", "model", "outcome", "status", "key")
    list_filter = ("outcome", "priority")
    search_fields = ("call", "agent", "crew", "model", "server", "key")
    date_hierarchy = "queued_at"
    show_full_result_count = False
    list_per_page = 50


@admin.register(ServerEvent)
class ServerEventAdmin(ReadOnlyAdmin):
    """What happened on servers, newest first."""

    list_display = ("at", "server", "kind", "model", "agent", "took_s", "detail")
    list_filter = ("kind",)
    search_fields = ("server", "model", "agent", "call")
    date_hierarchy = "at"
    ordering = ("-at", "-id")
    show_full_result_count = False
    list_per_page = 50
