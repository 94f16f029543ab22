"""The seven kinds: how each is called in files, paths and on the command line."""

from dataclasses import dataclass

GROUP = "kubemoot.ai"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind. `older` are further spellings of its name that files may use; `short` its short names."""

    name: str
    plural: str
    short: tuple[str, ...]
    namespaced: bool = True
    older: tuple[str, ...] = ()

    @property
    def singular(self) -> str:
        """Give the lower-case singular name."""
        return self.name.lower()

    @property
    def called(self) -> frozenset[str]:
        """List everything a path or a command may call this kind, in lower case."""
        older = (form for name in self.older for form in (name.lower(), f"{name.lower()}s"))
        return frozenset((self.singular, self.plural, *self.short, *older))


MODEL_SERVER = Kind(name="ModelServer", plural="modelservers", short=("mdls", "mdlp"), older=("ModelProvider",))
MODEL = Kind(name="Model", plural="models", short=("mdl",))
CREW = Kind(name="Crew", plural="crews", short=("crew",))
AGENT = Kind(name="Agent", plural="agents", short=("agent",))
PROMPT_MODULE = Kind(name="PromptModule", plural="promptmodules", short=("pm",))
POLICY = Kind(name="CrewSchedulingPolicy", plural="crewschedulingpolicies", short=("csp",))
ARCHETYPE = Kind(name="MootArchetype", plural="mootarchetypes", short=("moot",), namespaced=False)

KINDS = (MODEL_SERVER, MODEL, CREW, AGENT, PROMPT_MODULE, POLICY, ARCHETYPE)
BY_NAME = {spelling: kind for kind in KINDS for spelling in (kind.name, *kind.older)}


def known_kinds() -> tuple[str, ...]:
    """List the plural names of all kinds."""
    return tuple(kind.plural for kind in KINDS)


def find_kind(text: str) -> Kind | None:
    """Find the kind that a path or a command means; None when there is none."""
    wanted = text.strip().lower()
    return next((kind for kind in KINDS if wanted in kind.called), None)
