"""The schema of each kind's spec: the single source of REST, files, manifests and forms."""

from kubemoot_web.crds import kinds
from kubemoot_web.crds.schemas.agents import AgentSpec, CrewSpec, MootArchetypeSpec, PromptModuleSpec
from kubemoot_web.crds.schemas.base import Metadata, Schema
from kubemoot_web.crds.schemas.policies import CrewSchedulingPolicySpec
from kubemoot_web.crds.schemas.servers import ModelServerSpec, ModelSpec

SPECS: dict[str, type[Schema]] = {
    kinds.MODEL_SERVER.name: ModelServerSpec,
    kinds.MODEL.name: ModelSpec,
    kinds.CREW.name: CrewSpec,
    kinds.AGENT.name: AgentSpec,
    kinds.PROMPT_MODULE.name: PromptModuleSpec,
    kinds.POLICY.name: CrewSchedulingPolicySpec,
    kinds.ARCHETYPE.name: MootArchetypeSpec,
}

__all__ = ["SPECS", "Metadata", "Schema"]
