"""Sentences about what would help: to somebody who waits, a change that a person could make."""

from scheduler.core import helping
from scheduler.core.messages.wording import seconds, size, who


def helps(*, way: helping.Help) -> str:
    """Say one thing that would help a waiter, and where to change it."""
    match way:
        case helping.MoreSlots() | helping.HigherCap() | helping.HigherGroupCap():
            return _more_places(way)
        case helping.MoreMemory(server="", model=model, need_mib=need):
            return f"One more server with {size(need)} free for {model}."
        case helping.MoreMemory(server=server, model=model, need_mib=need, lacks_mib=lacks):
            return f"A server with {size(need)} free for {model}; {server} comes nearest and lacks {size(lacks)}."
        case helping.ServerBack(server=server, model=model):
            return f"{server} could take {model}, but it takes no calls now: its page says why."
        case helping.LoadWorks(server=server, model=model):
            return f"{server} could hold {model}, but loading it failed there: its page says why."
        case helping.Pull(server=server, model=model, usable_mib=usable):
            return f"{model} on the disk of {server}, which may use {size(usable)}: pull it there."
        case helping.KnowSize(model=model):
            return f"Nobody knows how large {model} is: set vramMib of its Model."
        case helping.KnowMemory(server=server, model=model):
            return f"The memory of {server} is not known, so {model} is not loaded there: set scheduling.memoryMiB."
        case helping.LongerLimit(agent=agent, short_s=short):
            where = f"deployment.env of {who(agent)}" if "/" in agent else "the header X-Kubemoot-Wait"
            return f"A limit {seconds(short)} longer, in {where}: it ends before the turn comes."


def _more_places(way: helping.MoreSlots | helping.Caps) -> str:
    match way:
        case helping.MoreSlots(server=server, model=model, slots=1):
            return f"A second slot on {server} for {model} (scheduling.maxParallel, if its memory allows it)."
        case helping.MoreSlots(server=server, model=model, slots=slots):
            return f"More than {slots} slots on {server} for {model} (scheduling.maxParallel, if its memory allows it)."
        case helping.HigherCap(server=server, cap=cap, is_reserve=True):
            return f"{server} keeps some of its {cap} places for people: a smaller scheduling.interactiveReserve."
        case helping.HigherCap(server=server, cap=cap):
            return f"{server} takes {cap} {'call' if cap == 1 else 'calls'} at once: a higher scheduling.maxConcurrent."
        case helping.HigherGroupCap(server=server, group=group, cap=cap):
            calls = "1 call" if cap == 1 else f"{cap} calls"
            return (
                f"The resource group {group}, which {server} is in, takes {calls} at once: a higher "
                f"scheduling.resourceGroup.maxConcurrent, on each of its servers."
            )
