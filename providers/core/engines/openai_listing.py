"""OpenAI's list of models (`/v1/models`), as every engine with that wire answers it."""

from providers.core.engines.base import PROBE_TIMEOUT_S, HttpCall
from providers.core.engines.json_reading import JsonObject, Nonsense

MODELS = HttpCall(method="GET", path="/v1/models", timeout_s=PROBE_TIMEOUT_S)
EXPECTED = 'an object with the list "data" of its models'


def entries_of(body: JsonObject) -> tuple[tuple[str, JsonObject], ...]:
    """Read the list: each model's identifier with its entry, each once. Null stands for an empty list.

    Raises:
        Nonsense: it is no such list.
    """
    if not body.contains("data"):
        raise Nonsense('an object without "data"')
    found: dict[str, JsonObject] = {}
    for entry in body.objects("data") or ():
        name = (entry.text("id") or "").strip()
        if not name:
            raise Nonsense("a model without an id")
        found.setdefault(name, entry)
    return tuple(found.items())
