"""What goes wrong inside while a call is carried: its client is told, its place freed, and nothing is repeated."""

import pytest

from providers.core.relaying import RelayRequest
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import WAY_NAMES, WAYS, Client, Gate, world_of

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)


class Broken(Answer):
    """An answer whose second piece nobody is prepared for. The error quotes what there was."""

    async def piece(self) -> bytes:
        """Fail after the first piece."""
        if self._next:
            raise LookupError(self.pieces[0])
        return await super().piece()


@ways
async def test_before_the_answer_it_is_a_status(path, stream, caplog):
    gate = Gate(await world_of())

    async def fail(*, endpoint: str, request: RelayRequest) -> Answer:
        raise LookupError(request.body)

    gate.relay.open = fail
    client = await gate.serve(Client(path, stream=stream, messages=[{"role": "user", "content": "secret"}]))

    assert (client.status, client.is_whole, gate.tickets) == (500, True, [])
    assert dict(client.headers)["x-kubemoot-reason"] == "internal"
    assert "LookupError" in caplog.text
    assert "secret" not in caplog.text


@ways
async def test_within_the_answer_it_is_an_error_that_clients_raise(path, stream, caplog):
    gate = Gate(await world_of(), Broken(pieces=(b'{"secret":1}\n', b"")))

    client = await gate.serve(Client(path, stream=stream))

    assert (client.is_whole, gate.tickets) == (True, [])
    assert b"Something went wrong inside Kubemoot" in client.body
    assert "LookupError" in caplog.text
    assert "secret" not in caplog.text
