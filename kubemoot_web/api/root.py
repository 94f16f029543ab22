"""The REST API at /api/v1: authentication, errors, documentation, and the routers."""

from importlib import import_module
from importlib.util import find_spec

from ninja import NinjaAPI

from kubemoot_web.access import REST_AUTH
from kubemoot_web.api import errors

api = NinjaAPI(
    title="Kubemoot",
    version="1",
    description=(
        "Lets many AI agents share a few GPUs. Times are RFC 3339 in UTC, sizes are MiB, ids are opaque. "
        "Every error has the shape `{error: {code, message, details}}`."
    ),
    auth=REST_AUTH,
    urls_namespace="api",
)
errors.register(api)
for _name in ("resources", "apply", "cluster", "decide", "agents", "plans", "tickets", "waiters", "calls"):
    if find_spec(f"kubemoot_web.api.{_name}"):
        api.add_router(f"/{_name}", import_module(f"kubemoot_web.api.{_name}").router, tags=[_name])
