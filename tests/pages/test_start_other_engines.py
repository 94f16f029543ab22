"""The first minutes with a server of another engine: who is asked for memory, and what is said of it."""

import pytest

from kubemoot_web.pages import start
from providers.core.types import EngineKind
from providers.services.discovery import Found
from scheduler import bootstrap
from tests.fakes.engine_server import engine_in_thread
from tests.pages.test_start_pages import asked, beside, person, text

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
NEEDED = "Say how much memory its GPUs have: nothing is loaded there without it."


@pytest.fixture
async def operator():
    """Sign an operator in, and let go of the ledger afterwards."""
    await bootstrap.runtime()
    yield await person("ada", "operator")
    await bootstrap.close()


@pytest.mark.parametrize(
    ("simulated", "kind", "memory", "says"),
    [
        ("llamacpp", "llamacpp", "", NEEDED),
        ("llamacpp", "llamacpp", "24576", ""),
        ("llamacpp-single", "llamacpp", "", ""),
        ("vllm", "vllm", "", ""),
        ("vllm", "openai", "", ""),
    ],
)
async def test_memory_is_asked_for_where_there_is_more_to_load(operator, simulated, kind, memory, says):
    with engine_in_thread(kind=simulated, models="m1=4000") as url:
        answer = await operator.post("/start/", asked(url, kind=kind, memory=memory))

        assert answer.status_code == (422 if says else 302)
        if says:
            assert beside(answer, "memory") == says
        else:
            assert "m1" in text(await operator.get(answer["Location"]))


async def test_what_is_found_is_offered_with_what_it_says_and_not_asked_for_what_does_not_matter(operator, monkeypatch):
    at = "http://127.0.0.1:8080"
    found = Found(kind=EngineKind.LLAMACPP, title="llama.cpp", endpoint=at, models=("gemma3",), can_load=False, slots=4)

    async def look_around(**_):
        return (found,)

    monkeypatch.setattr(start, "look_around", look_around)

    page = (await operator.get("/start/")).content.decode()
    offer = page.partition('class="card offer"')[2].partition("</form>")[0]

    assert "Its models: gemma3." in offer
    assert 'value="4"' in offer
    assert "Memory of its GPUs" not in offer


async def test_a_server_that_says_how_many_calls_it_takes_is_quoted(operator):
    with engine_in_thread(kind="llamacpp-single", models="m1=4000", slots=2) as url:
        answer = await operator.post("/start/check/", {"kind": "llamacpp", "endpoint": url})

    assert "and has 1 model. It takes 2 calls at once." in text(answer)
