"""A gateway without sockets, as the transport of a client package."""

import json
from types import ModuleType

import httpx

from kubemoot_web.gateway.asking import estimated_tokens, read_asked
from kubemoot_web.gateway.dialects import ROUTES, Operation, answer_headers, beat
from kubemoot_web.gateway.errors import error_answer
from kubemoot_web.gateway.upstream import upstream
from providers.core.types import EngineKind
from tests.gateway.reading import bytewise

MODEL = "agent/default/analyst"
HELLO = [{"role": "user", "content": "hello"}]
TOOL = {
    "type": "function",
    "function": {"name": "sum", "description": "adds", "parameters": {"type": "object", "properties": {"a": {}}}},
}
CALL = {"function": {"name": "sum", "arguments": {"a": 1}}}


class Through:
    """What is asked goes its way, and the bodies of an engine come back through the readers, byte by byte."""

    def __init__(
        self,
        *answers,
        is_context_set=True,
        fails=None,
        http: ModuleType = httpx,
        engine: EngineKind = EngineKind.OLLAMA,
    ):
        self.answers = list(answers)
        self.asked = []
        self.is_context_set = is_context_set
        self.engine = engine
        self.fails = fails
        self.http = http
        self.transport = http.MockTransport(self.handle)
        self.client = http.Client(transport=self.transport)

    def handle(self, request):
        """Answer one request."""
        route = ROUTES[request.url.path]
        if self.fails is not None:
            code, more = self.fails
            self.asked.append(code)
            status, headers, body = error_answer(route.dialect, code, "Said so.", **more)
            return self.http.Response(status, headers=headers, content=body)
        call = read_asked(dialect=route.dialect, operation=route.operation, body=request.content)
        if route.operation is Operation.COUNT_TOKENS:
            return self.http.Response(200, json={"input_tokens": estimated_tokens(call.fields)})
        way = upstream(
            call,
            engine=self.engine,
            model="qwen3:14b",
            context_length=8192,
            is_context_set=self.is_context_set,
            call_id="abc",
            clock=lambda: 1_764_417_600.0,
        )
        self.asked.append((way.path, json.loads(way.body)))
        waiting = beat(call.dialect, call.stream) * 2
        body = waiting + b"".join(map(way.reader.feed, bytewise(self.answers.pop(0)))) + way.reader.end()
        return self.http.Response(200, headers=answer_headers(call.dialect, call.stream), content=body)
