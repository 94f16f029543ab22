"""Loading and unloading in the words of the tests."""

from providers.core.types import EngineKind
from providers.services.loading import LoadLimits, load_model

LIMITS = LoadLimits(unload_s=5, load_s=5, confirm_s=5, first_poll_s=0.005, longest_poll_s=0.02)
SHORT = LoadLimits(unload_s=0.1, load_s=0.1, confirm_s=0.1, first_poll_s=0.005, longest_poll_s=0.02)


class Report:
    """Remembers which victims were reported, and what the engine still held at that moment."""

    def __init__(self, server=None):
        self.server = server
        self.gone = []

    async def victim_gone(self, *, model):
        held = [] if self.server is None else [copy.model.name for copy in self.server.engine.copies.values()]
        self.gone.append((model, held))


async def load(
    door,
    server,
    model,
    *,
    victims=(),
    limits=LIMITS,
    report=None,
    context_length=None,
    kind=EngineKind.OLLAMA,
):
    return await load_model(
        engine=door,
        kind=kind,
        endpoint=server.url,
        model=model,
        victims=victims,
        context_length=context_length,
        report=report or Report(server),
        limits=limits,
        now=1_000.0,
    )


def story(server):
    return [(event["event"], event["model"]) for event in server.engine.journal.events]
