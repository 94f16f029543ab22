"""The lines for clients: which model they name, and that each can be pasted as it is."""

import ast
import shlex

import pytest
import yaml

from kubemoot_web.board.details.connect import CLIENTS, connection_of, model_to_try
from tests.board.views import NOW, copy, record
from tests.details.replicas import replica_of

REMOTE = "https://gpu.example"


def lines(client: str, **more: object) -> str:
    """Write the lines of one client."""
    said = {"address": REMOTE, "key": "km_a_b", "model": "qwen3:8b", "agents": []}
    return next(one.text for one in connection_of(**said | more).clients if one.id == client)


@pytest.mark.parametrize("client", [one.id for one in CLIENTS if one.where == "Python"])
def test_python_lines_are_python(client):
    ast.parse(lines(client))


@pytest.mark.parametrize("client", [one.id for one in CLIENTS if one.where == "Shell"])
def test_shell_lines_are_words_of_a_shell(client):
    words = shlex.split(lines(client).replace("\\\n", " "))

    assert any("km_a_b" in word for word in words)


def test_the_lines_of_continue_are_yaml():
    (model,) = yaml.safe_load(lines("continue"))["models"]

    assert (model["model"], model["apiBase"], model["apiKey"]) == ("qwen3:8b", f"{REMOTE}/v1", "km_a_b")


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://localhost", True),
        ("http://[::1]:8000", True),
        ("http://[::1]", True),
        ("http://10.0.0.5:8000", False),
        ("https://gpu.example", False),
    ],
)
def test_a_container_reaches_an_address_of_this_computer_by_its_network_alone(address, is_local):
    connection = connection_of(address=address, key="", model=None, agents=[])

    assert connection.is_local is is_local
    assert ("--network host" in lines("open-webui", address=address)) is is_local


def test_without_model_agent_and_key_the_lines_hold_examples():
    connection = connection_of(address=REMOTE, key="", model=None, agents=[])

    assert (connection.model, connection.agent) == ("qwen3:14b", "default/NAME")
    assert (connection.has_model, connection.has_agent) == (False, False)
    assert "YOUR_KEY" in connection.clients[0].text


@pytest.mark.parametrize(
    ("warm", "on_disk", "registered", "model"),
    [
        (["b"], ["a", "b", "c"], ["c"], "b"),
        (["b", "a"], ["a", "b"], ["b"], "b"),
        ([], ["b", "a"], ["b"], "b"),
        ([], ["b", "a"], [], "a"),
        ([], [], ["c", "b"], "b"),
        (["nomic-embed-text"], ["nomic-embed-text"], ["nomic-embed-text", "z"], "z"),
        ([], [], [], None),
    ],
)
def test_the_lines_name_a_model_that_answers_soonest_and_never_one_that_only_embeds(warm, on_disk, registered, model):
    server = record(residents=[copy(name, mib=100) for name in warm], seen={"models": tuple(on_disk)})
    replica = replica_of(("server", "gpu-1", server))

    assert model_to_try(replica=replica, registered=registered, now=NOW) == model
