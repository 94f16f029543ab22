"""Programs that call the REST API, each with a token of its own."""

import json
from datetime import timedelta

import pytest
from django.test import AsyncClient

from kubemoot_web.access import token_create
from scheduler import bootstrap


class Caller:
    """A program with a token."""

    def __init__(self, token):
        self.client = AsyncClient()
        self.headers = {"Authorization": f"Bearer {token}"}

    async def get(self, path):
        return await self.client.get(f"/api/v1{path}", headers=self.headers)

    async def put(self, path, body):
        body = body if isinstance(body, str | bytes) else json.dumps(body)
        return await self._send(self.client.put, path, body, content_type="application/json")

    async def apply(self, text, query=""):
        return await self._send(self.client.post, f"/apply{query}", text, content_type="application/yaml")

    async def post(self, path, body=None):
        return await self._send(self.client.post, path, json.dumps(body), content_type="application/json")

    async def delete(self, path, body=None):
        data = "" if body is None else json.dumps(body)
        return await self._send(self.client.delete, path, data, content_type="application/json")

    async def _send(self, method, path, body, *, content_type):
        return await method(f"/api/v1{path}", data=body, content_type=content_type, headers=self.headers)


@pytest.fixture
async def caller():
    """Make callers, and let go of what their calls opened."""

    async def make(*scopes, **bound):
        return Caller(await token_create(name="robot", scopes=list(scopes), lifetime=timedelta(hours=1), **bound))

    yield make
    await bootstrap.close()
