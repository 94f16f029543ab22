"""The catalog port on the database: what operators registered, as core values."""

from collections.abc import Mapping, Sequence

from asgiref.sync import sync_to_async

from providers import queries as providers
from providers.core.engines import ENGINES
from providers.core.specs import ServerSpec
from scheduler import queries
from scheduler.core.calls import AgentOffer, AgentProfile
from scheduler.core.gate import FailMode
from scheduler.core.ledger import ServerConfig
from scheduler.core.types import Candidate

USUAL_SLOTS = 1


class OrmCatalog:
    """Reads the database, one trip for each question."""

    async def servers(self) -> Sequence[ServerConfig]:
        """List the registered servers that may be used."""
        return [_config(server) for server in await sync_to_async(providers.servers)()]

    async def footprints(self) -> Mapping[str, int]:
        """Map models to their declared footprint, MiB."""
        return await sync_to_async(providers.declared_footprints)()

    async def weights(self) -> Mapping[str, float]:
        """Map crews to their fair share; empty unless an operator gave any crew a weight."""
        return await sync_to_async(queries.crew_weights)()

    async def agent(self, *, name: str) -> AgentProfile:
        """Look up an agent.

        Raises:
            UnknownAgent: no such agent.
        """
        return await sync_to_async(queries.agent_profile)(name)

    async def able(self, *, capabilities: Sequence[str]) -> tuple[Candidate, ...]:
        """Rank the models that are labelled with every capability."""
        return await sync_to_async(queries.able_candidates)(capabilities)

    async def named(self, *, model: str) -> Candidate:
        """Make the only candidate of a call that names its model."""
        return await sync_to_async(queries.named_candidate)(model)

    async def models(self) -> frozenset[str]:
        """Name the registered models."""
        return await sync_to_async(queries.model_names)()

    async def agents(self) -> Sequence[AgentOffer]:
        """List the registered agents."""
        return await sync_to_async(queries.agent_offers)()


def _config(server: ServerSpec) -> ServerConfig:
    return ServerConfig(
        name=server.name,
        kind=server.kind,
        endpoint=server.endpoint,
        weight=server.weight,
        total_mib=server.memory_mib,
        reserve_mib=server.reserve_mib,
        slots=server.max_parallel or USUAL_SLOTS,
        max_concurrent=server.max_concurrent,
        interactive_reserve=server.interactive_reserve,
        resource_group=server.resource_group,
        context_length=server.context_length,
        can_load=ENGINES[server.kind].loader is not None,
        call_timeout_s=server.call_timeout_s,
        aborts_on_disconnect=server.aborts_on_disconnect,
        quarantine_on_ambiguous=server.quarantine_on_ambiguous,
        fail_mode=FailMode(server.fail_mode),
        secret=server.secret,
    )
