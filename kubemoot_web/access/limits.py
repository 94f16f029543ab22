"""What a key may call: crews, models and class, applied to a call before anything is placed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kubemoot_web.access.principal import Forbidden, Principal
from providers.core.model_names import normalise
from providers.core.types import EngineKind
from scheduler.core.calls import AgentOffer, AgentProfile, Call
from scheduler.core.messages import who
from scheduler.core.types import Candidate, Priority

NAMED = 3
"""So many names are written out in a refusal."""


def capped(*, principal: Principal, call: Call) -> Call:
    """Make of a call what the key allows of it: candidates left out, an interactive call made a background one.

    It says from then on whose call it is, so that the ledger can count how many the key has running, and gives a crew
    its turn for what its own key calls by the name of a model.

    Raises:
        Forbidden: the key allows nothing of it.
    """
    crew = call.crew or principal.crew or ""
    require_crew(principal=principal, crew=crew)
    return replace(
        call,
        crew=crew,
        candidates=allowed(principal=principal, candidates=call.candidates),
        priority=class_of(principal=principal, wanted=call.priority),
        key=principal.key,
        key_limit=principal.max_calls,
    )


def capped_profile(*, principal: Principal, profile: AgentProfile) -> AgentProfile:
    """Make of a selected agent's profile what the key allows of it.

    Raises:
        Forbidden: the key allows nothing of it.
    """
    require_crew(principal=principal, crew=profile.crew)
    candidates = {
        phase: allowed(principal=principal, candidates=ranked) for phase, ranked in profile.candidates.items() if ranked
    }
    return replace(profile, candidates=candidates)


def require_crew(*, principal: Principal, crew: str) -> None:
    """Let pass a call of a crew that the key may call for. A call of no crew is for keys of every crew.

    Raises:
        Forbidden: the key is for other crews.
    """
    if principal.crews is None or crew in principal.crews:
        return
    mine = _some(who(each) for each in principal.crews)
    what = f"not for {who(crew)}" if crew else "and this call is for none of their agents"
    raise Forbidden(f"The key {principal.name} calls for {mine} alone, {what}.")


def allowed(*, principal: Principal, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Leave out the candidates that the key may not use.

    Raises:
        Forbidden: none is left.
    """
    left = tuple(candidate for candidate in candidates if may_use(principal=principal, model=candidate.model))
    if left or not candidates:
        return left
    refused, mine = (_some(names) for names in ((each.model for each in candidates), principal.models or ()))
    raise Forbidden(f"The key {principal.name} may not use {refused}; it is for {mine}.")


def may_use(*, principal: Principal, model: str) -> bool:
    """Say whether the key may use a model, in any spelling."""
    mine = principal.models
    return mine is None or model in mine or normalise(kind=EngineKind.OLLAMA, name=model) in mine


def may_name(*, principal: Principal, model: str) -> bool:
    """Say whether a call with the key may name a model itself. A key for some crews calls for their agents alone."""
    return principal.crews is None and may_use(principal=principal, model=model)


def may_speak_for(*, principal: Principal, agent: AgentOffer) -> bool:
    """Say whether a call with the key may name an agent: it is the key's own, or of its crews, and a model is left."""
    return (
        principal.agent in (None, agent.name)
        and principal.crew in (None, agent.crew)
        and (principal.crews is None or agent.crew in principal.crews)
        and (principal.models is None or any(may_use(principal=principal, model=model) for model in agent.models))
    )


def class_of(*, principal: Principal, wanted: Priority) -> Priority:
    """Give the class of a call: what it asks for, or the key's ceiling where that is lower."""
    return Priority.BACKGROUND if principal.ceiling is Priority.BACKGROUND else wanted


def _some(names: Iterable[str]) -> str:
    ordered = sorted(set(names))
    more = len(ordered) - NAMED
    return ", ".join(ordered[:NAMED]) + (f" and {more} more" if more > 0 else "")
