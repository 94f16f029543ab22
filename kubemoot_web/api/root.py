"""The REST API at /api/v1: authentication, errors, documentation, and the routers."""

from ninja import NinjaAPI, Swagger

from kubemoot_web.access import REST_AUTH
from kubemoot_web.api import (
    agents,
    aliases,
    apply,
    attempts,
    calls,
    cluster,
    decide,
    endpoints,
    errors,
    plans,
    resources,
    tickets,
    waiters,
)

api = NinjaAPI(
    title="Kubemoot",
    version="1",
    description=(
        "Lets many AI agents share a few GPUs. Times are RFC 3339 in UTC, sizes are MiB, ids are opaque. "
        "Every error has the shape `{error: {code, message, details}}`."
    ),
    auth=REST_AUTH,
    # deep links would be links inside of buttons, which a screen reader cannot tell apart
    docs=Swagger(settings={"deepLinking": False, "defaultModelsExpandDepth": 0}),
    urls_namespace="api",
)
errors.register(api)
SUBJECTS = (
    resources,
    apply,
    cluster,
    decide,
    agents,
    plans,
    tickets,
    waiters,
    calls,
    attempts,
    endpoints,
    aliases,
)
for subject in SUBJECTS:
    name = subject.__name__.rsplit(".", 1)[1]
    api.add_router(f"/{name}", subject.router, tags=[name])
