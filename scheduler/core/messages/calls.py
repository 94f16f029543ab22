"""Sentences about calls: what they wait for, how they stand, how they ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.core.decisions import Reason
from scheduler.core.messages.wording import listed, seconds, some_of, who

CALL_STATES = {
    "waiting": "waiting",
    "loading": "loading",
    "running": "running",
    "left": "caller left",
    "done": "done",
    "failed": "failed",
    "lapsed": "lost its place",
    "stood_aside": "stood aside",
    "given_up": "gave up",
}


def waiting_count(*, count: int) -> str:
    """Say how many calls wait."""
    match count:
        case 0:
            return "Nobody waits."
        case 1:
            return "1 call waits."
        case _:
            return f"{count} calls wait."


def nobody_waits() -> str:
    """Say kindly that the line is empty."""
    return "Every call has its place. Whoever has to wait for a GPU appears here, with its turn and what it waits for."


def more_wait(*, count: int) -> str:
    """Say how many waiters are not shown."""
    return f"and {count} more behind them"


def waiting_for(*, model: str) -> str:
    """Say what an agent waits for."""
    return f"waiting for a GPU with room for {model}"


def waiting_for_key(*, limit: int) -> str:
    """Say that a call waits for another one of its own key, and how many that may have."""
    calls = "1 call" if limit == 1 else f"{limit} calls"
    return f"waiting for another call of its key to end: the key may run {calls} at once"


def asking() -> str:
    """Say that an agent's call has just come in."""
    return "waiting to be placed"


def queued_on(*, model: str, server: str) -> str:
    """Say whose slot an agent waits for."""
    return f"waiting for a free slot of {model} on {server}"


def queued_in_group(*, model: str, server: str, group: str) -> str:
    """Say that an agent waits for a place in a resource group, where a slot of the copy itself is free."""
    return f"waiting for a place in the resource group {group}, to run {model} on {server}"


def loading_on(*, model: str, server: str) -> str:
    """Say which load a granted call waits for."""
    return f"waiting for {model} to load on {server}"


def stood_aside(*, reason: str, model: str) -> str:
    """Say why a call got no place, and what would help."""
    match reason:
        case Reason.MODEL_TOO_LARGE:
            return (
                f"No server can hold {model}. Register a server with more memory or with the model on disk, "
                f"or let the policy accept a smaller model."
            )
        case Reason.PROMPT_TOO_LARGE:
            return (
                f"The prompt is longer than the context {model} has on any server. Shorten it, or raise contextLength "
                f"on a server with memory to spare."
            )
        case Reason.QUEUE_CLEARED:
            return f"An operator cleared the queue that the call for {model} stood in. Send it again, or ask them why."
        case Reason.GPU_CLOSED:
            return (
                f"No server that can hold {model} took calls for it when the wait ended: each was not ready, kept from "
                f"calls, or resting because its calls or loads failed. Their pages say why and since when."
            )
        case Reason.SIZE_UNKNOWN:
            return (
                f"Nobody knows how large {model} is, so it is loaded nowhere. Set vramMib of its Model: "
                f"its engine does not tell sizes."
            )
        case Reason.LOAD_OVERDUE:
            return (
                f"The load of {model} did not end until the waiting limit, and should have long before. Look at what "
                f"its engine's log says, or try again later."
            )
        case Reason.WAIT_LOST:
            return "The call lost its turn in line: Kubemoot did not hear of it for too long. Send it again."
        case Reason.KEY_LIMIT:
            return (
                "The key's own calls kept running until the waiting limit. Send fewer calls at once, or raise the "
                "key's number of calls."
            )
        case _:
            return (
                f"Every GPU with room for {model} stayed busy until the waiting limit. Try again later, raise the "
                f"agent's limit, or add a server."
            )


def call_state(*, state: str, lasted_s: float | None = None) -> str:
    """Say where a call is, or how it ended and after how long."""
    word = CALL_STATES.get(state, state)
    return word if lasted_s is None else f"{word} after {seconds(lasted_s)}"


def slot_taken(*, agents: Sequence[str], more: int, slots: int, is_loading: bool) -> str:
    """Say who has the slots that somebody waits for, each once; `more` slots are taken by others."""
    if not agents:
        return "The server takes no further call at the moment."
    people = [who(agent) for agent in agents]
    names = listed([*people, f"{more} more"] if more > 0 else people)
    if is_loading:
        return f"It is being loaded for {names}."
    return f"Its slot is taken by {names}." if slots == 1 else f"Its {slots} slots are taken by {names}."


def group_full(*, group: str, total: int, cap: int, servers: Sequence[str]) -> str:
    """Say that a resource group runs as many calls as it may, and on which servers."""
    calls = "call" if cap == 1 else "calls"
    return f"The resource group {group} is full: {total} of {cap} {calls} at once, on {some_of(servers)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """A model that keeps another one out of a server, and the agent that it is there for; none: others wait for it."""

    server: str
    model: str
    agent: str
    is_loading: bool


def kept_out(*, keepers: Sequence[Keeper], more: int) -> str:
    """Say what keeps a model out: on which server which model stays, and for whom. `more` servers are like these."""
    reasons = [_kept(keeper) for keeper in keepers]
    if more > 0:
        reasons.append(f"{more} more {'server is' if more == 1 else 'servers are'} in use as well")
    return f"{'; '.join(reasons)}."


def _kept(keeper: Keeper) -> str:
    if not keeper.agent:
        return f"others wait for {keeper.model} on {keeper.server}"
    if keeper.is_loading:
        return f"{keeper.model} is being loaded for {who(keeper.agent)} on {keeper.server}"
    return f"{who(keeper.agent)} uses {keeper.model} on {keeper.server}"


def emptied_for_it(*, server: str, busy: Sequence[str]) -> str:
    """Say that a server is being emptied for a waiter, and what still has to end there."""
    if not busy:
        return f"{server} has been emptied for it: its load comes next."
    return f"{server} is being emptied for it, as soon as the calls on {listed(busy)} have ended."


def waiter_moves(*, agent: str, model: str, server: str) -> str:
    """Say what happens when a wait ends; without a server the model has to be loaded first."""
    return f"{who(agent)} gets a slot of {model} on {server}" if server else f"{who(agent)} gets room for {model}"


def load_ends(*, model: str, server: str, agents: Sequence[str]) -> str:
    """Say who goes on when a load is done."""
    if not agents:
        return f"{model} is loaded on {server}"
    verb = "goes" if len(agents) == 1 else "go"
    return f"{model} is loaded on {server} and {listed([who(agent) for agent in agents])} {verb} on"


def call_ends(*, agent: str, model: str, server: str) -> str:
    """Say whose slot frees when a call should be over."""
    return f"{who(agent)} should be done on {server}, and its slot of {model} free"


def nothing_ahead(*, servers: int, waiting: int) -> str:
    """Say that nothing is to be expected, or that nobody knows when."""
    if not servers:
        return "Nothing, until there is a server."
    if waiting:
        return "Nobody can say yet when the next call goes on. The line says what each of them waits for."
    return "Nothing is due: nobody waits and nothing is loading. The next call is placed the moment it comes."


def engine_failed(*, server: str, failure: str, said: str = "") -> str:
    """Say how an engine failed a call that it had a place for, and what it `said` of it."""
    told = _engine_failed(server=server, failure=failure)
    return f"{told} It said: {said}" if said else told


def _engine_failed(*, server: str, failure: str) -> str:
    match failure:
        case "unreached":
            return f"{server} cannot be reached now. Its page says since when."
        case "busy":
            return f"The engine on {server} is full or not ready. Others may be calling it without Kubemoot."
        case "redirected":
            return f"{server} answered with a redirect, which is not followed. Register the address it points to."
        case "broken":
            return f"{server} was at work on the call and closed its connection or fell silent; it was not sent again."
    return f"The engine on {server} failed while it answered. Its own log says why."


def place_lost() -> str:
    """Say that a running call lost its place."""
    return "The call lost its place: Kubemoot did not hear of it for too long. Send it again."
