"""What a client's call wants, from the name of its model and its headers: no I/O."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kubemoot_web.gateway.asking import BadAsk
from providers.core.model_names import normalise
from providers.core.types import EngineKind
from scheduler.core.admission.classes import Purpose, class_of
from scheduler.core.ledger import ServerRecord
from scheduler.core.types import Priority
from scheduler.services.callers import Wanted

Word = TypeVar("Word", Purpose, Priority)

AGENT = "agent/"
CREW = "crew/"
AUTO = "auto"
LONGEST_WAIT_S = 590.0
"""Client libraries give up after 600 seconds: our answer must be there before."""
LONGEST_SILENCE_S = 30.0
TIMEOUTS = ("x-stainless-read-timeout", "x-stainless-timeout")
"""Where the packages of OpenAI and Anthropic, and what is built on them, say how long they wait for the next byte."""
LONGEST_NAME = 320
LONGEST_THREAD = 200
MOST_CAPABILITIES = 32


class NoSuchModel(Exception):
    """The name stands for nothing that Kubemoot knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the headers of a call say. `wait_s` None: as long as is usual; `timeout_s` is after how long a silence the
    client gives up, None where it does not say.
    """

    priority: Priority
    purpose: str
    thread: str
    wait_s: float | None
    timeout_s: float | None
    capabilities: tuple[str, ...]


def wishes_of(headers: Mapping[str, str]) -> Wishes:
    """Read the headers that are ours.

    Raises:
        BadAsk: one of them cannot be understood.
    """
    purpose: Purpose | None = _one_of(Purpose, headers, "x-kubemoot-purpose")
    priority: Priority | None = _one_of(Priority, headers, "x-kubemoot-priority")
    thread = headers.get("x-kubemoot-thread", "")
    if len(thread) > LONGEST_THREAD:
        raise BadAsk(f"The header X-Kubemoot-Thread is longer than {LONGEST_THREAD} characters.")
    capabilities = tuple(filter(None, map(str.strip, headers.get("x-kubemoot-capabilities", "").split(","))))
    if len(capabilities) > MOST_CAPABILITIES or any(len(name) > LONGEST_NAME for name in capabilities):
        raise BadAsk(f"The header X-Kubemoot-Capabilities names more than {MOST_CAPABILITIES} words, or a long one.")
    return Wishes(
        priority=class_of(purpose=purpose) if priority is None else priority,
        purpose="" if purpose is None else purpose.value,
        thread=thread,
        wait_s=_seconds(headers, "x-kubemoot-wait"),
        timeout_s=_timeout_s(headers),
        capabilities=capabilities,
    )


def wanted_of(*, caller: str, model: str, wishes: Wishes, prompt_tokens: int | None) -> Wanted:
    """Read what the name of a model stands for: a model, an agent, or whatever is able.

    Raises:
        BadAsk: the name cannot be one.
        NoSuchModel: crews do not answer calls yet.
    """
    if not 0 < len(model) <= LONGEST_NAME or not model.isprintable():  # half characters and zeros break databases
        raise BadAsk(f"The field model must be a name of at most {LONGEST_NAME} printable characters.", "model")
    if model.startswith(CREW):
        raise NoSuchModel("A whole crew cannot be called yet: name one of its agents, agent/NAMESPACE/NAME.")
    agent = model.removeprefix(AGENT) if model.startswith(AGENT) else None
    is_auto = model in (AUTO, f"{AUTO}:latest")
    if is_auto and not wishes.capabilities:
        raise BadAsk(
            'The model "auto" needs the header X-Kubemoot-Capabilities, such as: tool-calling,reasoning.', "model"
        )
    return Wanted(
        caller=caller,
        agent=agent.removesuffix(":latest") if agent is not None else None,
        model=None if is_auto or agent is not None else model,
        capabilities=wishes.capabilities if is_auto else (),
        thread=wishes.thread,
        purpose=wishes.purpose,
        priority=wishes.priority,
        prompt_tokens=prompt_tokens,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a call waits for its place, and how much of that in silence."""

    wait_s: float
    silence_s: float


def patience_of(*, wishes: Wishes, own_s: float | None, usual_s: float, silence_s: float) -> Patience:
    """Work out a call's patience: what its client asks for, within its agent's own limit.

    The longer the silence, the more is still told by a status. A client that says how long it waits for a place wants
    to hear the truth then: it is left in silence until then, or for as long as clients commonly stand it. One that says
    when it gives up is left in silence for half of that. Who says nothing may be impatient: `silence_s` is for those.
    """
    limits = [limit for limit in (wishes.wait_s, own_s) if limit is not None]
    wait_s = min(limits, default=usual_s)
    if wishes.wait_s is not None:
        silence_s += min(wait_s, LONGEST_SILENCE_S)
    elif wishes.timeout_s is not None:
        silence_s = max(silence_s, LONGEST_SILENCE_S)
    if wishes.timeout_s is not None:
        silence_s = min(silence_s, wishes.timeout_s / 2)
    return Patience(wait_s=wait_s, silence_s=silence_s)


def is_known(*, model: str, registered: Collection[str], servers: Iterable[ServerRecord]) -> bool:
    """Say whether a model is registered, or may be on a server: one that did not say what it has may have it."""
    names = {model, normalise(kind=EngineKind.OLLAMA, name=model)}
    return not names.isdisjoint(registered) or any(
        server.seen.models is None
        or not names.isdisjoint(server.seen.models)
        or any(not names.isdisjoint(copy.names) for copy in server.seen.residents)
        for server in servers
    )


def names_of(*, registered: Iterable[str], servers: Iterable[ServerRecord]) -> set[str]:
    """Gather the names of all models that are registered, or that a server said it has."""
    names = set(registered)
    for server in servers:
        names.update(server.seen.models or (), *(copy.names for copy in server.seen.residents))
    return names


def in_other_case(*, model: str, names: Iterable[str]) -> str | None:
    """Find a model whose name differs in case alone: to Ollama both are the one that it has. None: there is none."""
    wanted = normalise(kind=EngineKind.OLLAMA, name=model).casefold()
    return min((name for name in names if name.casefold() == wanted), default=None)


def _one_of(words: type[Word], headers: Mapping[str, str], name: str) -> Word | None:
    text = headers.get(name)
    if text is None:
        return None
    try:
        return words(text.strip().lower())
    except ValueError:
        raise BadAsk(f"The header {name} must be one of: {', '.join(words)}.") from None


def _timeout_s(headers: Mapping[str, str]) -> float | None:
    text = next((headers[name] for name in TIMEOUTS if name in headers), "")
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds < math.inf else None


def _seconds(headers: Mapping[str, str], name: str) -> float | None:
    text = headers.get(name)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise BadAsk(f"The header {name} must be a number of seconds from 0 on.")
    return min(seconds, LONGEST_WAIT_S)
