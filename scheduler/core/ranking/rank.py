"""Policy x models x phase -> ranked candidates (scheduling rules, section 1).

1. The policy's rule for the phase says which Model objects are candidates; without a rule every one is.
2. Its `prefer` block scores them, else the policy's quality bias, else they all score 0.
3. The objects that name one identifier become one candidate: the best score, the servers of all.
4. Order: score descending, smaller declared memory (undeclared last), name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from scheduler.core.ranking import reasons
from scheduler.core.ranking.quality import bias_for, bias_score, latency_class
from scheduler.core.ranking.selector import EVERYTHING, Selector
from scheduler.core.types import Candidate

PHASES = ("mulling", "triage")
CAPABILITY_PREFIX = "capability/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelObject:
    """A Model resource as ranking sees it. `server` None: wherever an engine has it."""

    model: str
    labels: Mapping[str, str] = field(default_factory=dict)
    declared_mib: int | None = None
    server: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One preference: models that match earn its weight."""

    weight: int
    selector: Selector


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a policy says about one phase. `require` None: every model is a candidate."""

    phase: str
    require: Selector | None = None
    prefer: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A crew's policy as ranking sees it."""

    name: str
    rules: tuple[Rule, ...] = ()
    biases: Mapping[str, Fraction] = field(default_factory=dict)

    def rule(self, phase: str) -> Rule | None:
        """Look up the rule for a phase."""
        return next((rule for rule in self.rules if rule.phase == phase), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its place's reason."""

    model: str
    score: int
    servers: frozenset[str] | None
    declared_mib: int | None
    why: str

    def candidate(self) -> Candidate:
        """Give what a call needs of it."""
        return Candidate(model=self.model, score=self.score, servers=self.servers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The candidates of one phase, preferred first. `problem` says why there is none."""

    phase: str
    ranked: tuple[Ranked, ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """A Model object with its score."""

    object: ModelObject
    score: int
    why: str


def rank(
    *, phase: str, models: Sequence[ModelObject], policy: Policy | None, capabilities: Iterable[str] = ()
) -> Ranking:
    """Rank the models that an agent with these capabilities may use in a phase."""
    rule = policy.rule(phase) if policy is not None else None
    require = rule.require if rule is not None and rule.require is not None else EVERYTHING
    bias = bias_for(biases=policy.biases, capabilities=capabilities) if policy is not None else None
    scored = [_score(model, rule=rule, bias=bias) for model in models if require.matches(model.labels)]
    if scored:
        return Ranking(phase=phase, ranked=_ordered(scored))
    problem = reasons.nothing_matches(
        phase=phase, policy=policy.name if policy is not None else "", selector=require.text(), models=len(models)
    )
    return Ranking(phase=phase, ranked=(), problem=problem)


def rank_by_capabilities(*, models: Iterable[ModelObject], capabilities: Iterable[str]) -> tuple[Ranked, ...]:
    """Rank the models that are labelled with every capability; all score 0."""
    keys = [CAPABILITY_PREFIX + capability for capability in capabilities]
    able = [model for model in models if all(model.labels.get(key) == "true" for key in keys)]
    return _ordered([_score(model, rule=None, bias=None) for model in able])


def rank_named(*, models: Iterable[ModelObject], model: str) -> Ranked:
    """Make the only candidate of a call that names its model; an unregistered one runs wherever an engine has it."""
    own = [_score(known, rule=None, bias=None) for known in models if known.model == model]
    return _merged(own or [_score(ModelObject(model=model), rule=None, bias=None)])


def _score(model: ModelObject, *, rule: Rule | None, bias: Fraction | None) -> _Scored:
    if rule is not None and rule.prefer:
        terms = [term for term in rule.prefer if term.selector.matches(model.labels)]
        why = reasons.terms_matched(terms=((term.weight, term.selector.text()) for term in terms))
        return _Scored(object=model, score=sum(term.weight for term in terms), why=why)
    if bias is not None:
        latency = latency_class(model.labels)
        why = reasons.biased(bias=bias, latency=latency)
        return _Scored(object=model, score=bias_score(latency=latency, bias=bias), why=why)
    return _Scored(object=model, score=0, why=reasons.no_preference())


def _ordered(scored: Iterable[_Scored]) -> tuple[Ranked, ...]:
    by_model: dict[str, list[_Scored]] = {}
    for one in scored:
        by_model.setdefault(one.object.model, []).append(one)
    return tuple(sorted((_merged(group) for group in by_model.values()), key=_order))


def _merged(group: Sequence[_Scored]) -> Ranked:
    """Make one candidate of the objects that name one identifier."""
    best = max(group, key=lambda one: (one.score, one.why))
    servers = [one.object.server for one in group]
    declared = [one.object.declared_mib for one in group if one.object.declared_mib is not None]
    return Ranked(
        model=best.object.model,
        score=best.score,
        servers=None if None in servers else frozenset(server for server in servers if server is not None),
        declared_mib=min(declared, default=None),
        why=best.why,
    )


def _order(ranked: Ranked) -> tuple[int, bool, int, str]:
    return (-ranked.score, ranked.declared_mib is None, ranked.declared_mib or 0, ranked.model)
