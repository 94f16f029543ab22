"""The first minutes: from nothing to a server, its models and a placed call; every step works without scripts."""

import html
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.test import AsyncClient

from kubemoot_web.access import sign_in
from kubemoot_web.models import ApiToken
from kubemoot_web.pages import start
from providers import queries
from providers.core.types import EngineKind
from providers.services.discovery import Found
from scheduler import bootstrap
from tests.fakes.engine_server import engine_in_thread

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]


@pytest.fixture(autouse=True)
async def ledger():
    """Give the ledger, and let go of it afterwards."""
    rt = await bootstrap.runtime()
    yield rt.ledger
    await bootstrap.close()


@pytest.fixture
def engine():
    """Give the address of an engine with three models on its disk."""
    with engine_in_thread(models="qwen3:14b,qwen2.5-coder:7b=6000,nomic-embed-text") as url:
        yield url


@pytest.fixture(autouse=True)
def nearby(monkeypatch):
    """Have nothing run on this machine's usual ports, whatever does; a test may put something there."""
    found: list[Found] = []

    async def look_around(**_):
        return tuple(found)

    monkeypatch.setattr(start, "look_around", look_around)
    return found


async def person(name: str, role: str) -> AsyncClient:
    """Sign somebody in."""
    user = await User.objects.acreate(username=name)
    group, _ = await Group.objects.aget_or_create(name=role)
    await user.groups.aadd(group)
    client = AsyncClient()
    await client.aforce_login(user)
    return client


@pytest.fixture
async def operator():
    """Sign an operator in."""
    return await person("ada", "operator")


def asked(endpoint: str, **more: str) -> dict[str, str]:
    """Fill the form of a server."""
    return {"kind": "ollama", "endpoint": endpoint, "name": "desk", "memory": "24576", "slots": "2"} | more


def text(answer) -> str:
    """Read a page as people do."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


def beside(answer, field: str) -> str:
    """Read what stands beside a field as its error."""
    found = re.search(rf'id="id_{field}_error"[^>]*>([^<]+)<', answer.content.decode())
    return html.unescape(found[1]) if found else ""


def filled(page: str) -> dict[str, str]:
    """Fill a page's form the way a browser does: with what stands in it."""
    inputs = [dict(re.findall(r'([a-z]+)="([^"]*)"', tag)) for tag in re.findall(r"<input[^>]+>", page)]
    values = {
        i["name"]: html.unescape(i.get("value", "on" if i["type"] == "checkbox" else "")) for i in inputs if "name" in i
    }
    chosen = re.findall(r'<select name="([^"]+)".*?<option value="([^"]*)" selected', page, re.DOTALL)
    return {name: value for name, value in {**values, **dict(chosen)}.items() if name != "csrfmiddlewaretoken"}


async def test_what_runs_on_this_machine_is_offered_with_a_form_that_is_almost_filled(operator, nearby):
    at = "http://127.0.0.1:11434"
    nearby.append(Found(kind=EngineKind.OLLAMA, title="Ollama", endpoint=at, models=("qwen3:14b",)))

    answer = await operator.get("/start/")

    assert answer.status_code == 200
    assert "Its models: qwen3:14b." in text(answer)
    assert 'value="http://127.0.0.1:11434"' in answer.content.decode()
    assert await _names() == [], "opening the page registers nothing"


async def test_nothing_nearby_says_which_ports_were_asked(operator):
    assert "usual ports (11434, 8080, 8000)" in text(await operator.get("/start/"))


async def test_a_server_that_answers_is_registered_and_leads_to_its_models(operator, engine):
    answer = await operator.post("/start/", asked(engine))

    assert (answer.status_code, answer["Location"]) == (302, "/start/server/desk/models/")
    (server,) = await _servers()
    kept = (server.name, server.kind, server.endpoint, server.memory_mib, server.max_parallel)
    assert kept == ("desk", EngineKind.OLLAMA, engine, 24576, 2)


@pytest.mark.parametrize(
    ("endpoint", "says"),
    [
        ("http://127.0.0.1:9", "nothing accepts connections there"),
        ("gpu-1:11434", "This is no address: write it like http://host:11434."),
        ("http://169.254.169.254/", "is a link-local or metadata address"),
        ("http://ada:hunter2@gpu-1:11434", "must not contain a user name or password"),
    ],
)
async def test_an_address_that_will_not_do_is_named_beside_the_field(operator, endpoint, says):
    answer = await operator.post("/start/", asked(endpoint))

    assert answer.status_code == 422
    assert says.lower() in beside(answer, "endpoint").lower()
    assert "hunter2" not in beside(answer, "endpoint")
    assert await _names() == []


async def test_another_program_at_the_address_is_not_taken_for_an_engine(operator, live_server):
    answer = await operator.post("/start/", asked(live_server.url))

    assert "/api/" in beside(answer, "endpoint")
    assert await _names() == []


async def test_a_server_that_is_off_can_be_registered_all_the_same(operator):
    answer = await operator.post("/start/", asked("http://127.0.0.1:9", anyway="on"))

    assert answer.status_code == 302
    assert await _names() == ["desk"]


async def test_every_wrong_field_is_told_at_once_beside_itself(operator, engine):
    answer = await operator.post("/start/", asked(engine, name="Big Box", memory="lots", slots="0"))

    assert "lower-case letters" in beside(answer, "name")
    assert beside(answer, "memory")
    assert beside(answer, "slots") == "This must be 1 or more."
    assert 'value="Big Box"' in answer.content.decode(), "what was typed stays"


async def test_a_server_that_loads_models_is_asked_how_much_memory_it_has(operator, engine):
    """Nothing would ever be loaded there, and the first call would wait for ever."""
    answer = await operator.post("/start/", asked(engine, memory=""))

    assert beside(answer, "memory") == "Say how much memory its GPUs have: nothing is loaded there without it."
    assert await _names() == []


async def test_one_server_is_not_registered_twice_under_two_names(operator, engine):
    await operator.post("/start/", asked(engine))

    answer = await operator.post("/start/", asked(engine.replace("127.0.0.1", "localhost"), name="second"))

    assert "is the same server as desk" in beside(answer, "endpoint").lower()


async def test_the_live_check_tells_what_it_finds_without_registering(operator, engine):
    good = await operator.post("/start/check/", {"kind": "ollama", "endpoint": engine})
    bad = await operator.post("/start/check/", {"kind": "ollama", "endpoint": "http://127.0.0.1:9"})
    none = await operator.post("/start/check/", {"kind": "ollama", "endpoint": ""})

    assert "It answers (version 0.12.0) and has 3 models." in text(good)
    assert "nothing accepts connections there" in text(bad)
    assert text(none).strip() == ""
    assert await _names() == []


async def test_models_on_disk_come_with_labels_that_can_be_mended(operator, engine):
    await operator.post("/start/", asked(engine))
    page = (await operator.get("/start/server/desk/models/")).content.decode()
    form = filled(page)
    coder = next(name.rsplit("-", 1)[0] for name, value in form.items() if value == "qwen2.5-coder:7b")
    embedder = next(name.rsplit("-", 1)[0] for name, value in form.items() if value == "nomic-embed-text")
    form |= {f"{coder}-capabilities": "coding, review", f"{coder}-latency": "medium"}
    del form[f"{embedder}-wanted"]

    answer = await operator.post("/start/server/desk/models/", form)

    assert (answer.status_code, answer["Location"]) == (302, "/start/call/")
    assert {model.model: (dict(model.labels), model.vram_mib) for model in await _models()} == {
        "qwen3:14b": ({"latencyClass": "medium", "family": "qwen3", "params": "14b"}, 10240),
        "qwen2.5-coder:7b": (
            {
                "latencyClass": "medium",
                "family": "qwen2.5-coder",
                "params": "7b",
                "capability/coding": "true",
                "capability/review": "true",
            },
            6000,
        ),
    }


async def test_a_label_that_cannot_be_written_is_told_beside_its_model(operator, engine):
    await operator.post("/start/", asked(engine))
    form = filled((await operator.get("/start/server/desk/models/")).content.decode())
    form["form-0-family"] = "no spaces here"

    answer = await operator.post("/start/server/desk/models/", form)

    assert answer.status_code == 422
    assert "must be at most 63 letters" in text(answer).lower()
    assert await _models() == ()


async def test_a_first_call_that_has_to_wait_shows_what_for(operator, engine):
    await operator.post("/start/", asked(engine))
    await operator.post(
        "/start/server/desk/models/", filled((await operator.get("/start/server/desk/models/")).content.decode())
    )

    choosing = await operator.get("/start/call/")
    answer = await operator.post("/start/call/", {"model": "qwen3:14b"})

    assert "<option>qwen3:14b</option>" in choosing.content.decode()
    assert answer.status_code == 302, "without a worker nothing is probed, so it waits"
    for waiting in (await operator.get(answer["Location"]), await operator.post(answer["Location"])):
        assert waiting.status_code == 200
        assert "Waiting for desk to take calls: qwen3:14b has no place elsewhere." in text(waiting)
        assert "Look again" in text(waiting)


async def test_a_model_that_is_not_there_is_told_beside_the_field(operator):
    answer = await operator.post("/start/call/", {"model": "nothing"})

    assert answer.status_code == 422


async def test_somebody_elses_wait_is_not_shown_or_ended(operator):
    assert "This wait is over" in text(await operator.get("/start/call/no-such-waiter/"))


async def test_a_token_is_made_when_asked_for_and_shown_with_the_lines_that_use_it(operator, engine):
    await operator.post("/start/", asked(engine))
    await operator.post(
        "/start/server/desk/models/", filled((await operator.get("/start/server/desk/models/")).content.decode())
    )

    answer = await operator.post("/start/call/token/")

    token = re.search(r"TOKEN=(\S+)", text(answer))[1]
    made = await ApiToken.objects.aget()
    assert token.startswith(f"km_{made.prefix}_")
    assert made.scopes == ["read", "call"]
    assert made.expires_at is not None
    assert '"model": "nomic-embed-text"' in text(answer)


@pytest.mark.parametrize("path", ["/start/", "/start/check/", "/start/call/", "/start/call/token/"])
async def test_a_viewer_is_told_which_role_it_takes_and_a_stranger_to_sign_in(path):
    viewer, stranger = await person("eve", "viewer"), AsyncClient()

    refused = await viewer.post(path)

    assert refused.status_code == 403
    assert "operator" in text(refused)
    assert (await stranger.post(path))["Location"].startswith("/login/")


async def test_the_sign_in_link_leads_to_the_first_steps_while_there_is_no_server(engine, operator):
    user = await User.objects.aget(username="ada")
    first, later = AsyncClient(), AsyncClient()

    before = await first.get(f"/login/link/{sign_in.login_link_token(user=user)}/")
    await operator.post("/start/", asked(engine))
    after = await later.get(f"/login/link/{sign_in.login_link_token(user=user)}/")

    assert (before["Location"], after["Location"]) == ("/start/", "/")


async def _servers():
    return await sync_to_async(queries.servers)()


async def _models():
    return await sync_to_async(queries.models)()


async def _names():
    return [server.name for server in await _servers()]
