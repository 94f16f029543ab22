"""Three people: one with a role, one without any, and a stranger; and the addresses of the pages they ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db import connections
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def person(name: str, role: str | None = None) -> AsyncClient:
    """Sign somebody in."""
    user, _ = await User.objects.aget_or_create(username=name)
    if role:
        group, _ = await Group.objects.aget_or_create(name=role)
        await user.groups.aadd(group)
    client = AsyncClient(headers=BROWSER)
    await client.aforce_login(user)
    return client


@asynccontextmanager
async def asked_of_the_database() -> AsyncIterator[list[str]]:
    """Collect what is asked of our own tables meanwhile; it is there when the block has ended."""
    asked: list[str] = []
    caught = await sync_to_async(lambda: CaptureQueriesContext(connections["default"]).__enter__())()
    try:
        yield asked
    finally:
        await sync_to_async(caught.__exit__)(None, None, None)
        asked.extend(
            q["sql"]
            for q in caught.captured_queries
            if 'FROM "scheduler_' in q["sql"] or 'FROM "providers_' in q["sql"]
        )
