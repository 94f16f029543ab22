"""The lines that point a client here: the person's own address, a key, and a model that is there.

House rules: every line can be pasted as it is; what stands here is run by the tests with the real clients, where they
are packages of ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

from scheduler.core.replica import Replica

NO_KEY = "YOUR_KEY"
NO_MODEL = "qwen3:14b"
NO_AGENT = "default/NAME"
LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What one client wants: where it goes, and the text to paste. `about` says what is worth knowing besides."""

    id: str
    title: str
    where: str
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What the lines are made of. `has_model` and `has_agent` say whether these names are real."""

    address: str
    key: str
    model: str
    agent: str
    has_model: bool
    has_agent: bool
    is_local: bool
    clients: tuple[Lines, ...]

    @property
    def openai(self) -> str:
        """Give the base URL of OpenAI-style clients."""
        return f"{self.address}/v1"


CLIENTS = (
    Lines(
        id="openai",
        title="OpenAI for Python",
        where="Python",
        text="""\
from openai import OpenAI

client = OpenAI(
    base_url="$address/v1",
    api_key="$key",
)
answer = client.chat.completions.create(
    model="$model",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)
""",
        about="Many other programs read OPENAI_BASE_URL and OPENAI_API_KEY from their environment.",
    ),
    Lines(
        id="ollama",
        title="Ollama for Python",
        where="Python",
        text="""\
from ollama import Client

client = Client(
    host="$address",
    headers={"Authorization": "Bearer $key"},
)
answer = client.chat(
    model="$model",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.message.content)
""",
    ),
    Lines(
        id="ollama-env",
        title="Ollama by environment",
        where="Shell",
        text="""\
export OLLAMA_HOST=$address
export OLLAMA_API_KEY=$key
""",
        about="For programs that use Ollama's Python package.",
    ),
    Lines(
        id="ollama-command",
        title="The ollama command",
        where="Shell",
        text="""\
export OLLAMA_HOST=$address/key/$key
ollama run $model
""",
        about="It sends no key of its own, so the key is part of the address here: keep that address to yourself.",
    ),
    Lines(
        id="langchain-openai",
        title="LangChain, the OpenAI way",
        where="Python",
        text="""\
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    model="$model",
    base_url="$address/v1",
    api_key="$key",
    stream_usage=True,
)
print(llm.invoke("Hello!").content)
""",
        about="Without stream_usage it counts no tokens at any address but OpenAI's own.",
    ),
    Lines(
        id="langchain-ollama",
        title="LangChain, the Ollama way",
        where="Python",
        text="""\
from langchain_ollama import ChatOllama

llm = ChatOllama(
    model="$model",
    base_url="$address",
    client_kwargs={"headers": {"Authorization": "Bearer $key"}},
)
print(llm.invoke("Hello!").content)
""",
    ),
    Lines(
        id="open-webui",
        title="Open WebUI",
        where="Shell",
        text="""\
docker run -d --name open-webui $network \\
  -e OPENAI_API_BASE_URL=$address/v1 \\
  -e OPENAI_API_KEY=$key \\
  -e ENABLE_OLLAMA_API=false \\
  -v open-webui:/app/backend/data \\
  ghcr.io/open-webui/open-webui:main
""",
        about="It runs already? Admin Panel, Settings, Connections, OpenAI API, +: the same address and key. "
        "What was set there once wins over the environment.",
    ),
    Lines(
        id="aider",
        title="aider",
        where="Shell",
        text="""\
export OPENAI_API_BASE=$address/v1
export OPENAI_API_KEY=$key
aider --model openai/$model
""",
    ),
    Lines(
        id="continue",
        title="Continue",
        where="~/.continue/config.yaml",
        text="""\
name: Kubemoot
version: 1.0.0
schema: v1
models:
  - name: $model
    provider: openai
    model: "$model"
    apiBase: $address/v1
    apiKey: $key
    roles: [chat, edit, apply]
""",
    ),
    Lines(
        id="crewai",
        title="CrewAI",
        where="Python",
        text="""\
from crewai import LLM

llm = LLM(
    model="$model",
    provider="openai",
    base_url="$address/v1",
    api_key="$key",
)
print(llm.call("Hello!"))
""",
        about="Give it to an Agent as llm=llm.",
    ),
    Lines(
        id="curl",
        title="curl",
        where="Shell",
        text="""\
curl $address/v1/chat/completions \\
  -H "Authorization: Bearer $key" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "$model", "messages": [{"role": "user", "content": "Hello!"}]}'
""",
    ),
)


def connection_of(*, address: str, key: str, model: str | None, agents: Sequence[str]) -> Connection:
    """Write the lines of every client."""
    is_local = address.split("://", 1)[1].rsplit(":", 1)[0] in LOCAL or address.split("://", 1)[1] in LOCAL
    said = {
        "address": address,
        "key": key or NO_KEY,
        "model": model or NO_MODEL,
        "network": "--network host -e PORT=3000" if is_local else "-p 3000:8080",
    }
    return Connection(
        address=address,
        key=key,
        model=said["model"],
        agent=agents[0] if agents else NO_AGENT,
        has_model=model is not None,
        has_agent=bool(agents),
        is_local=is_local,
        clients=tuple(
            Lines(
                id=one.id,
                title=one.title,
                where=one.where,
                text=Template(one.text).substitute(said),
                about=one.about,
            )
            for one in CLIENTS
        ),
    )


def model_to_try(*, replica: Replica, registered: Sequence[str], now: float) -> str | None:
    """Choose the model for the lines: one that answers at once where there is one, and no embedding model.

    1. Loaded, registered ones first. 2. On a disk, registered ones first. 3. Registered. 4. None.
    """
    servers = replica.snapshot(now=now).servers.values()
    warm = {model for server in servers for model in server.warm}
    on_disk = {model for record in replica.servers.values() for model in record.seen.models or ()}
    names = sorted(name for name in {*warm, *on_disk, *registered} if "embed" not in name)
    ranked = sorted(names, key=lambda name: (name not in warm, name not in on_disk, name not in registered))
    return ranked[0] if ranked else None
