"""The models a simulated engine has on its disk, and what they take in memory."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from providers.core.model_names import DEFAULT_TAG, normalise
from providers.core.types import EngineKind

# What each takes once loaded. Sizes on disk are made so that the usual estimate (times 1.2) meets them.
KNOWN_MIB = {
    "qwen3:8b": 6144,
    "qwen3:14b": 10240,
    "qwen3:32b": 20480,
    "llama3.2:3b": 3277,
    "gpt-oss:20b": 13352,
    "nomic-embed-text": 614,
    "bge-m3": 1229,
}
EMBEDDERS = ("embed", "bge-")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedModel:
    """One tag on the disk. Tags with one digest share their weights, and so their copy in memory."""

    name: str
    footprint_mib: int
    digest: str

    @property
    def size_mib(self) -> int:
        """Give the size on disk."""
        return self.footprint_mib * 5 // 6

    @property
    def can_generate(self) -> bool:
        """Say whether the model writes text; the others only embed."""
        return not any(mark in self.name for mark in EMBEDDERS)

    @property
    def listed_name(self) -> str:
        """Write the name as the engine lists it: always with its tag."""
        return self.name if ":" in self.name.rpartition("/")[2] else self.name + DEFAULT_TAG


def canonical(name: str) -> str:
    """Give the one spelling of a model's name."""
    return normalise(kind=EngineKind.OLLAMA, name=name)


def by_weights(models: Mapping[str, SimulatedModel]) -> dict[str, list[SimulatedModel]]:
    """Put the tags of the same weights together, by their digest, in the order of the catalog."""
    found: dict[str, list[SimulatedModel]] = {}
    for model in models.values():
        found.setdefault(model.digest, []).append(model)
    return found


def parse_models(text: str) -> dict[str, SimulatedModel]:
    """Read a list like `qwen3:8b,other:7b=5000,chat-prod=qwen3:8b`: known models, sizes in MiB, second tags of weights.

    Raises:
        ValueError: a model without a known size, or a second tag of a model that is not in the list before it.
    """
    found: dict[str, SimulatedModel] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        written, _, value = entry.partition("=")
        name = canonical(written)
        if value and not value.isdecimal():
            twin = found.get(canonical(value))
            if twin is None:
                raise ValueError(f"{name} is to share the weights of {value}, which is not in the list before it")
            found[name] = SimulatedModel(name=name, footprint_mib=twin.footprint_mib, digest=twin.digest)
            continue
        footprint = int(value) if value else KNOWN_MIB.get(name)
        if footprint is None:
            raise ValueError(f"the size of {name} is not known here: write {name}=MIB")
        digest = hashlib.sha256(name.encode()).hexdigest()
        found[name] = SimulatedModel(name=name, footprint_mib=footprint, digest=digest)
    return found
