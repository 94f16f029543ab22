"""Every sentence, word for word: they are what people know of the scheduler."""

import pytest

from scheduler.core import messages
from scheduler.core.decisions import Option, Verdict
from scheduler.core.messages.local import goes_on_silently

SAID = {
    "waiting for a GPU with room for qwen3:32b": messages.waiting_for(model="qwen3:32b"),
    "waiting for a free slot of qwen3:14b on gpu-1": messages.queued_on(model="qwen3:14b", server="gpu-1"),
    "waiting for qwen3:14b to load on gpu-1": messages.loading_on(model="qwen3:14b", server="gpu-1"),
    "waiting to be placed": messages.asking(),
    "Nobody waits.": messages.waiting_count(count=0),
    "1 call waits.": messages.waiting_count(count=1),
    "2 calls wait.": messages.waiting_count(count=2),
    "Every call has its place. Whoever has to wait for a GPU appears here, with its turn and what it waits for.": (
        messages.nobody_waits()
    ),
    "0 of 1 slot used": messages.slots_used(used=0, slots=1),
    "2 of 4 slots used": messages.slots_used(used=2, slots=4),
    "1.0 GiB free": messages.memory_free(free_mib=1024),
    "free memory unknown": messages.memory_free(free_mib=None),
    "What it holds is not known yet.": messages.last_seen(phase="pending"),
    "When it last answered:": messages.last_seen(phase="stale"),
    "512 MiB": messages.size(512),
    "1.0 GiB": messages.size(1024),
    "-1.5 GiB": messages.size(-1536),
    "9.9 s": messages.seconds(9.94),
    "119 s": messages.seconds(119),
    "2 min": messages.seconds(120),
    "": messages.server_problem(phase="ready", detail="whatever was before"),
    "It has not been asked yet. Nothing is placed here before its first answer.": messages.server_problem(
        phase="pending", detail=""
    ),
    "A load hung. What is loaded here is still used.": messages.server_problem(phase="degraded", detail="a load hung"),
    "Connection refused. Nothing is placed here; it comes back by itself.": messages.server_problem(
        phase="unreachable", detail="connection refused"
    ),
    "GET /api/ps: is it there? Nothing is placed here; it comes back by itself.": messages.server_problem(
        phase="failing", detail="GET /api/ps: is it there?"
    ),
    "Nothing is placed here; it comes back by itself.": messages.server_problem(phase="stale", detail=""),
    "Being emptied for a/b, who waits for m.": messages.draining_for(agent="a/b", model="m", victims=()),
    "takes the place of a, b and c": messages.making_room(victims=("a", "b", "c")),
    "uses m on s: loaded, with a free slot": messages.call_placed(action="use", model="m", server="s", cost_s=0.0),
    "shares the load of m on s that is under way, about 8.0 s": messages.call_placed(
        action="join", model="m", server="s", cost_s=8
    ),
    "queues for m on s: the soonest place, about 12 s": messages.call_placed(
        action="queue", model="m", server="s", cost_s=12
    ),
    "loads m on s into free memory, about 20 s": messages.call_placed(action="load", model="m", server="s", cost_s=20),
    "loads m on s in place of a and b, which nobody needs now": messages.call_placed(
        action="evict", model="m", server="s", evicts=("a", "b")
    ),
    "waits: no GPU with room for m can take it now": messages.call_placed(action="wait", model="m", server=""),
    "asks for a place": messages.call_placed(action="", model="", server=""),
    "done after 4.2 s": messages.call_state(state="done", lasted_s=4.2),
    "gave up": messages.call_state(state="given_up"),
    "Redis does not answer, so what you see may be old. Calls are not placed meanwhile; this goes away by itself when "
    "Redis is back.": messages.ledger_silent(),
    "Redis does not answer, so what you see may be old. Cap not shared: calls go on to a, b, c and 2 more, as many as "
    "this web process alone lets in (1 call runs, 2 wait); elsewhere none is placed. This goes away by itself when "
    "Redis is back.": goes_on_silently(servers=["a", "b", "c", "d", "e"], running=1, waiting=2),
    "unload a on s and load m (30 s): would take longer": messages.option_sentence(
        option=Option(action="evict", server="s", model="m", cost_s=30, verdict=Verdict.COSTS_MORE, evicts=("a",))
    ),
    "analyst": messages.who("default/analyst"),
    "team-b/analyst": messages.who("team-b/analyst"),
    "Its slot is taken by analyst.": messages.slot_taken(agents=["default/analyst"], more=0, slots=1, is_loading=False),
    "Its 3 slots are taken by analyst.": messages.slot_taken(
        agents=["default/analyst"], more=0, slots=3, is_loading=False
    ),
    "Its 5 slots are taken by a/b, c and 2 more.": messages.slot_taken(
        agents=["a/b", "c"], more=2, slots=5, is_loading=False
    ),
    "It is being loaded for a/b.": messages.slot_taken(agents=["a/b"], more=0, slots=1, is_loading=True),
    "The server takes no further call at the moment.": messages.slot_taken(
        agents=[], more=0, slots=0, is_loading=False
    ),
    "a/b uses m on s; others wait for n on t; o is being loaded for c on u; 1 more server is in use as well.": (
        messages.kept_out(
            keepers=[
                messages.Keeper(server="s", model="m", agent="a/b", is_loading=False),
                messages.Keeper(server="t", model="n", agent="", is_loading=False),
                messages.Keeper(server="u", model="o", agent="default/c", is_loading=True),
            ],
            more=1,
        )
    ),
    "s has been emptied for it: its load comes next.": messages.emptied_for_it(server="s", busy=[]),
    "s is being emptied for it, as soon as the calls on m and n have ended.": messages.emptied_for_it(
        server="s", busy=["m", "n"]
    ),
    "a gets a slot of m on s": messages.waiter_moves(agent="default/a", model="m", server="s"),
    "a gets room for m": messages.waiter_moves(agent="default/a", model="m", server=""),
    "m is loaded on s": messages.load_ends(model="m", server="s", agents=[]),
    "m is loaded on s and a and b go on": messages.load_ends(model="m", server="s", agents=["default/a", "default/b"]),
    "a should be done on s, and its slot of m free": messages.call_ends(agent="default/a", model="m", server="s"),
    "Nothing, until there is a server.": messages.nothing_ahead(servers=0, waiting=0),
    "Nothing is due: nobody waits and nothing is loading. The next call is placed the moment it comes.": (
        messages.nothing_ahead(servers=1, waiting=0)
    ),
    "Nobody can say yet when the next call goes on. The line says what each of them waits for.": (
        messages.nothing_ahead(servers=1, waiting=1)
    ),
    "takes longer than the 20 s estimated": messages.load_late(estimate_s=20),
    "held for its call": messages.place_state(state="planned"),
    "runs once it is loaded": messages.place_state(state="loading"),
    "runs": messages.place_state(state="active"),
    "its caller has left; the engine works on": messages.place_state(state="active", is_left=True),
    "1 free slot, idle": messages.slots_free(count=1, is_idle=True),
    "3 free slots": messages.slots_free(count=3, is_idle=False),
    "1 call waits": messages.slot_queue(count=1),
    "2 calls wait": messages.slot_queue(count=2),
    "2 running, 1 loading, 1 held": messages.server_doing(running=2, held=1, loading=1, cap=None),
    "4 running, cap 4": messages.server_doing(running=4, held=0, loading=0, cap=4),
    "idle": messages.server_doing(running=0, held=0, loading=0, cap=None),
    "share the load of m on s": messages.option_name(action="join", model="m", server="s"),
    "load m on s, without a": messages.option_name(action="evict", model="m", server="s", evicts=("a",)),
}


@pytest.mark.parametrize(("wanted", "said"), SAID.items(), ids=[wanted[:40] or "nothing" for wanted in SAID])
def test_it_says_what_it_should(wanted, said):
    assert said == wanted


@pytest.mark.parametrize(
    ("reason", "begins", "ends"),
    [
        ("model-too-large", "No server can hold qwen3:32b.", "or let the policy accept a smaller model."),
        ("prompt-too-large", "The prompt is longer than the context qwen3:32b has", "with memory to spare."),
        ("gpu-busy", "Every GPU with room for qwen3:32b stayed busy", "raise the agent's limit, or add a server."),
        ("gpu-closed", "No server that can hold qwen3:32b took calls for it", "Their pages say why and since when."),
        ("size-unknown", "Nobody knows how large qwen3:32b is", "its engine does not tell sizes."),
        ("load-overdue", "The load of qwen3:32b did not end", "or try again later."),
        ("wait-lost", "The call lost its turn in line", "Send it again."),
    ],
)
def test_standing_aside_says_why_and_what_would_help(reason, begins, ends):
    said = messages.stood_aside(reason=reason, model="qwen3:32b")

    assert said.startswith(begins)
    assert said.endswith(ends)
