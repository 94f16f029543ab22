"""Selected agents are placed at once, those with the fewest places first; across crews they converge on one copy."""

from dataclasses import replace

from scheduler.core.decisions import Load, Queue, Use, Wait
from scheduler.core.explain import trace_json
from scheduler.core.ledger import Plan
from scheduler.core.selection import places, plan_selection
from scheduler.core.types import Demand, TicketState
from tests.builders import NOW, call, cluster, server
from tests.core.placement.taken import taken


def selected(*agents):
    """Each agent with its empty plan, as they were selected together."""
    return [
        (Plan(id=f"plan-{asked.value.agent}", agent=asked.value.agent, thread="t", created_at=NOW), asked.waits())
        for asked in agents
    ]


def plans(snapshot, *agents):
    """What each agent got, in the order they were placed."""
    grants, decisions = plan_selection(snapshot=snapshot, selected=selected(*agents))
    got = [(g.ticket.agent, g.ticket.action, g.ticket.model, g.ticket.server) for g in grants]
    without = {key: decision for key, decision in decisions.items() if key not in {g.plan.id for g in grants if g.plan}}
    return got, without


def test_a_selected_agent_holds_a_planned_place_and_its_load_begins_at_once():
    snapshot = cluster(server()).knowing("m", 10240).at()

    (grant,), decisions = plan_selection(snapshot=snapshot, selected=selected(call("a").prefers("m")))

    ticket = grant.ticket
    assert (ticket.id, ticket.state, ticket.plan, ticket.waiter) == ("p-plan-a", TicketState.PLANNED, "plan-a", None)
    assert grant.load is not None
    assert (grant.load.server, grant.load.model, grant.load.footprint_mib) == ("gpu-1", "m", 10240)
    chosen = trace_json(decisions["plan-a"], planned_at=NOW)
    assert grant.plan == Plan(id="plan-a", agent="a", thread="t", created_at=NOW, ticket="p-plan-a", trace=chosen)
    assert isinstance(decisions["plan-a"], Load)


def test_agents_with_the_fewest_places_are_placed_first():
    """The picky one would find its only slot taken by one that could go anywhere."""
    snapshot = cluster(server("gpu-1").loaded("m"), server("gpu-2").loaded("n")).at()
    easy = call("a-easy").prefers("m", 70).then("n", 70)
    picky = call("z-picky").prefers("m", on=["gpu-1"])

    got, without = plans(snapshot, easy, picky)

    assert got == [("z-picky", "use", "m", "gpu-1"), ("a-easy", "use", "n", "gpu-2")]
    assert without == {}


def test_agents_of_two_crews_that_share_a_candidate_converge_on_one_copy():
    snapshot = cluster(server("gpu-1").having(slots=2), server("gpu-2").having(slots=2))
    snapshot = snapshot.knowing("m", 10240).knowing("n", 10240).at()

    got, _ = plans(snapshot, call("crew-1/a").prefers("m", 70), call("crew-2/b").prefers("n", 70).then("m", 65))

    assert got == [("crew-1/a", "load", "m", "gpu-1"), ("crew-2/b", "join", "m", "gpu-1")]


def test_an_agent_that_would_have_to_wait_holds_nothing():
    """Its intent stands, so that nobody unloads what it will need."""
    snapshot = cluster(server().total(10240).loaded("m")).knowing("big", 10240).wanting("m", intents=[NOW]).at()

    got, without = plans(snapshot, call("a").prefers("m"), call("b").prefers("m"), call("c").prefers("big"))

    assert got == [("a", "use", "m", "gpu-1")]
    assert {key: taken(decision, like=decision) for key, decision in without.items()} == {
        "plan-b": Queue(server="gpu-1", model="m", cost_s=30.0),
        "plan-c": Wait(model="big"),
    }


def test_the_intents_of_others_keep_a_model_from_being_unloaded_for_a_plan():
    built = cluster(server().total(10240).loaded("m")).knowing("big", 10240)

    free = plans(built.at(), call("a").prefers("big"))
    kept = plans(built.wanting("m", intents=[NOW]).at(), call("a").prefers("big"))

    assert free[0] == [("a", "evict", "big", "gpu-1")]
    assert kept[0] == []


def test_an_agent_s_own_intent_does_not_stand_in_its_way():
    """It names every model it accepts, and one of them may have to go for another."""
    snapshot = cluster(server().total(10240).loaded("m")).knowing("big", 10240).at()
    snapshot = replace(snapshot, demand={"m": Demand(intents={"a#t": NOW})})
    ((plan, waiter),) = selected(call("a").prefers("big", 70))

    grants, _ = plan_selection(snapshot=snapshot, selected=[(plan, replace(waiter, thread="t"))])

    assert [grant.load and grant.load.evicts for grant in grants] == [("m",)]


def test_a_place_is_a_server_and_a_model_that_could_run_there():
    snapshot = cluster(
        server("gpu-1").total(8192).loaded("large", 20480),
        server("gpu-2"),
        server("gpu-3").having(ready=False),
        server("gpu-4").having(models=frozenset({"tiny"})),
    )
    snapshot = snapshot.knowing("tiny", 1024).at()

    def count(asked):
        return places(snapshot=snapshot, waiter=asked.waits())

    assert count(call().prefers("tiny")) == 3
    assert count(call().prefers("large")) == 2
    assert count(call().prefers("large").then("tiny")) == 5
    assert count(call().prefers("large", 70).then("tiny", 59)) == 2
    assert count(call().prefers("tiny", on=["gpu-2"])) == 1


def test_decisions_of_agents_that_are_placed_say_how():
    snapshot = cluster(server().loaded("m")).at()

    _, decisions = plan_selection(snapshot=snapshot, selected=selected(call("a").prefers("m")))

    assert {key: taken(d, like=d) for key, d in decisions.items()} == {"plan-a": Use(server="gpu-1", model="m")}
