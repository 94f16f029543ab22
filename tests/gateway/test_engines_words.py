"""What an engine says of its own failure reaches the client, in the client's dialect."""

import pytest

from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import WAY_NAMES, WAYS, Client, Gate, world_of

WHY = "model requires more system memory (9.1 GiB) than is available"


@pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)
async def test_an_engine_that_fails_a_call_is_quoted_to_whoever_called(path, stream):
    client = Client(path, stream=stream)
    gate = Gate(await world_of(), Answer(status=500, pieces=(f'{{"error": "{WHY}"}}'.encode(),)))

    await gate.serve(client)

    assert client.status in (500, 502)
    assert WHY in client.body.decode()
    assert gate.tickets == []
