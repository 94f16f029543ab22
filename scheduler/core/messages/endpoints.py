"""Sentences about endpoints: how many calls they take, what an operator may do to one, and what came of it."""

from collections.abc import Sequence

from scheduler.core.group_flight import GroupFlight
from scheduler.core.messages.wording import seconds, some_of
from scheduler.core.operator_steps import Step

CLOSED_WORDS = {
    "paused": "Paused",
    "draining": "Draining",
    "drained": "Drained",
    "quarantined": "Taken out",
    "circuit": "Resting",
}


def closed_word(*, kind: str) -> str:
    """Say in a word or two why a server takes no calls."""
    return CLOSED_WORDS.get(kind, kind)


def calls_of_cap(*, total: int, cap: int | None) -> str:
    """Say how many calls an endpoint has, and how many it takes."""
    if cap is None:
        return f"{total} {'call' if total == 1 else 'calls'} at once, no cap"
    over = ": none is ended, new ones wait" if total > cap else ""
    return f"{total} of {cap} {'call' if cap == 1 else 'calls'} at once{over}"


def reserve_kept(*, reserve: int, cap: int | None) -> str:
    """Say what is kept for calls that somebody waits for; nothing where nothing is."""
    if cap is None or not reserve:
        return ""
    if reserve >= cap:
        return "All places are kept for interactive calls: background calls never run here."
    return f"{reserve} {'place is' if reserve == 1 else 'places are'} kept for interactive calls."


def works_on_for(*, count: int) -> str:
    """Say that places are kept for calls whose callers have left; nothing where there are none."""
    if not count:
        return ""
    calls = "Of 1 call the caller has" if count == 1 else f"Of {count} calls the callers have"
    return f"{calls} left; the engine works on, and the place is kept until it ends."


def group_fill(*, group: GroupFlight, server: str) -> str:
    """Say, where a server is shown, how many calls its resource group has and takes, and who else is in it."""
    fill = calls_of_cap(total=group.total, cap=group.cap)
    return f"Resource group {group.name}{_shared(group=group, server=server)}: {fill}."


def group_limit(*, group: GroupFlight, server: str) -> str:
    """Say how many calls a server takes at once together with others, beside a name for that."""
    return f"{group.cap} at most in the resource group {group.name}{_shared(group=group, server=server)}"


def group_cap_means(*, beside: Sequence[str]) -> str:
    """Say, where a resource group's cap is set, on which servers it counts."""
    if not beside:
        return "No other server is in the group so far."
    return f"Together with {some_of(beside)}: it counts the calls of all, and is set on each of them."


def _shared(*, group: GroupFlight, server: str) -> str:
    beside = [other for other in group.servers if other != server]
    return f", with {some_of(beside)}" if beside else ", with no other server so far"


def or_elsewhere(*, servers: Sequence[str]) -> str:
    """Say where else a call that waits for a server may come to run."""
    return f"{some_of(servers)} would do, too" if servers else ""


def delay(*, value_s: float | None) -> str:
    """Say how long calls queued, a dash where none came."""
    return "–" if value_s is None else seconds(value_s)


def last_span(*, span_s: float) -> str:
    """Name the time up to now that figures are of: an hour, or less where there was more than can be looked at."""
    minutes = round(span_s / 60)
    return "the last hour" if minutes >= 60 else f"the last {max(minutes, 1)} min"


def switches(*, per_hour: float, avoidable: int) -> str:
    """Say how often the model changed in an hour, and how often for nothing."""
    if not per_hour:
        return "none"
    often = f"{per_hour:.0f} an hour" if per_hour >= 1 else "less than one an hour"
    return f"{often}, {avoidable} avoidable" if avoidable else often


def came_back(*, model: str, instead: str, count: int) -> str:
    """Name a model that left and was soon wanted again: leaving was for nothing."""
    times = "once" if count == 1 else f"{count} times"
    return f"{model} left for {instead} and was back within 5 min, {times}"


def nobody_queues(*, closed: bool) -> str:
    """Say that no call waits for an endpoint."""
    if closed:
        return "Nobody waits for it. Calls that have no other place line up here until it takes calls again."
    return "Nobody waits for it. A call that finds no free place here lines up, with who, why and for how long."


def step_done(*, step: Step, server: str, is_news: bool, sent_away: int) -> str:
    """Say what came of what an operator did."""
    match step:
        case Step.CLEAR_QUEUE if sent_away:
            return f"{sent_away} waiting {'call was' if sent_away == 1 else 'calls were'} sent away from {server}."
        case Step.CLEAR_QUEUE:
            return f"Nobody waited for {server} alone: nobody was sent away."
    if not is_news:
        return NO_NEWS[step].format(server=server)
    return DONE[step].format(server=server)


def step_unknown(*, server: str) -> str:
    """Say that nobody knows what came of what an operator did: the ledger may have heard it, and did not answer."""
    return (
        f"Redis did not answer, so nobody knows whether {server} was changed. "
        "This page shows it once Redis is back: look then, and do it again if need be."
    )


DONE = {
    Step.PAUSE: "{server} is paused. What runs there goes on.",
    Step.DRAIN: "{server} is being drained. This page says when nothing runs there any more.",
    Step.QUARANTINE: "{server} is taken out. What runs there goes on.",
    Step.RESUME: "{server} takes calls again.",
    Step.CLEAR_QUARANTINE: "{server} takes calls again.",
}
NO_NEWS = {
    Step.PAUSE: "{server} was paused already.",
    Step.DRAIN: "{server} was being drained already.",
    Step.QUARANTINE: "{server} was taken out already.",
    Step.RESUME: "{server} was neither paused nor drained.",
    Step.CLEAR_QUARANTINE: "{server} was not taken out.",
}


def step_name(*, step: Step) -> str:
    """Name what an operator may do."""
    return STEPS[step][0]


def step_means(*, step: Step, sent_away: int, stay: int) -> str:
    """Say what follows, before it is done. Of those who wait, `sent_away` have no other place, and `stay` have."""
    if step is not Step.CLEAR_QUEUE:
        return STEPS[step][1]
    gone = f"{sent_away} waiting {'call is' if sent_away == 1 else 'calls are'} sent away with an error"
    stays = f"; {stay} that may run elsewhere {'waits' if stay == 1 else 'wait'} on" if stay else ""
    return f"{gone}{stays}. This cannot be undone."


STEPS = {
    Step.PAUSE: (
        "Pause",
        "What runs here goes on. Nothing new is placed here: calls go elsewhere where they can, the others wait.",
    ),
    Step.DRAIN: (
        "Drain",
        "A pause for a restart or new hardware: this page says when nothing runs here any more.",
    ),
    Step.QUARANTINE: (
        "Take out",
        "For an engine that answers wrongly: nothing is placed here until somebody takes it back, and pages say so.",
    ),
    Step.RESUME: ("Resume", "Calls are placed here again at once."),
    Step.CLEAR_QUARANTINE: ("Take back", "Its engine is well again: calls are placed here at once."),
    Step.CLEAR_QUEUE: ("Clear the queue", ""),
}
