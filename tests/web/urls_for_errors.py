"""An API of the real kind with a few operations that fail in every way."""

from django.urls import include, path
from ninja import Body, NinjaAPI, Schema
from pydantic import model_validator

from kubemoot_web.access import REST_AUTH, AuthedRequest
from kubemoot_web.api import errors

api = NinjaAPI(title="Failing", version="errors", auth=REST_AUTH, docs_url=None)
errors.register(api)


class Inner(Schema):
    """A nested field."""

    size: int


class Outer(Schema):
    """A body."""

    name: str
    parts: tuple[Inner, ...] = ()

    @model_validator(mode="after")
    def _says_something(self):
        if not self.name:
            raise ValueError("say something")
        return self


@api.get("/whoami")
async def whoami(request: AuthedRequest):
    """Say who asks."""
    return {"name": request.auth.name}


@api.post("/things")
async def things(request: AuthedRequest, payload: Body[Outer]):
    """Take a body."""
    request.auth.require("write")
    return {"ok": True}


@api.get("/pages")
async def pages(request: AuthedRequest, size: int = 10):
    """Take a number in the query."""
    return {"size": size}


urlpatterns = [path("api/v1/", api.urls), path("", include("kubemoot_web.pages.urls"))]
