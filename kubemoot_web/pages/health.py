"""Is it alive, is it ready: for load balancers and for `manage.py up`."""

from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

from kubemoot_web.celery import HEARTBEAT_KEY
from scheduler import bootstrap

OK = "ok"
NO_WORKER = "no worker has finished a task in the last seconds"


@never_cache
async def alive(request: HttpRequest) -> JsonResponse:
    """Answer, and by answering say that this process lives."""
    return JsonResponse({"status": OK})


@never_cache
async def ready(request: HttpRequest) -> JsonResponse:
    """Say for each part that the product needs whether it answers.

    Without Redis a process whose servers let calls in by its own count is ready all the same: else whoever sends calls
    only to processes that are ready would send none.
    """
    redis, worker = await sync_to_async(_redis_and_worker)()
    parts = {"database": await sync_to_async(_database)(), "redis": redis, "worker": worker}
    if all(state == OK for state in parts.values()):
        return JsonResponse({"status": OK, "parts": parts})
    if redis != OK and parts["database"] == OK and await _goes_on():
        return JsonResponse({"status": "goes on without Redis", "parts": parts})
    return JsonResponse({"status": "not ready", "parts": parts}, status=503)


async def _goes_on() -> bool:
    """Say whether calls go on in this process while Redis is away."""
    replica = await bootstrap.replica()
    return replica is not None and bool(replica.local_servers)


def _database() -> str:
    """Ask the database."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception as error:  # every driver has errors of its own; their text may hold an address, so only the class
        return f"does not answer ({type(error).__name__})"
    return OK


def _redis_and_worker() -> tuple[str, str]:
    """Ask Redis, and look there for the sign of life that a worker leaves."""
    try:
        heartbeat = cache.get(HEARTBEAT_KEY)
    except Exception as error:  # as above
        return f"does not answer ({type(error).__name__})", "unknown while Redis does not answer"
    return OK, OK if heartbeat else NO_WORKER
