"""What operators register, and what becomes of the rest when that changes."""

from scheduler.core.ledger import Refusal, ServerConfig, ServerLearned, ServerRecord, ServerSeen
from tests.contracts.builders import World, server


async def test_a_new_server_is_registered_unseen(world: World) -> None:
    assert await world.servers(server("gpu-1", slots=3)) is True
    assert world.ledger.replica.servers == {"gpu-1": ServerRecord(config=server("gpu-1", slots=3))}


async def test_configuring_the_same_again_is_no_new_version(world: World) -> None:
    given = (server("gpu-1"), server("gpu-2"))
    await world.ledger.configure(servers=given, footprints={"14b": 10240}, weights={"c": 2.0})
    version = world.ledger.replica.version

    changed = await world.ledger.configure(servers=given[::-1], footprints={"14b": 10240}, weights={"c": 2.0})

    assert (changed, world.ledger.replica.version) == (False, version)


async def test_footprints_and_weights_are_exactly_what_was_given_last(world: World) -> None:
    await world.ledger.configure(servers=[], footprints={"8b": 1, "14b": 2}, weights={"a": 2.0, "b": 0.5})

    assert await world.ledger.configure(servers=[], footprints={"14b": 3}, weights={"b": 0.5}) is True
    assert (world.ledger.replica.footprints, world.ledger.replica.weights) == ({"14b": 3}, {"b": 0.5})


async def test_what_was_seen_and_learned_outlives_a_changed_limit(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")
    await world.releases("t1")
    before = world.record()

    await world.servers(server(slots=4, weight=50))

    assert world.record() == ServerRecord(config=server(slots=4, weight=50), seen=before.seen, learned=before.learned)
    assert before.learned != ServerLearned()


async def test_another_endpoint_is_another_server(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1")
    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=20.0)
    moved: ServerConfig = server(endpoint="http://elsewhere")

    await world.servers(moved)

    assert world.record() == ServerRecord(config=moved)
    assert world.tickets == {}
    assert world.ledger.replica.waiters["w1"].ticket is None
    assert probe is not None
    assert await world.ledger.probe_end(server="gpu-1", probe=probe, seen=ServerSeen(ready=True)) is False
    assert await world.sees("gpu-1", "8b") is True


async def test_a_removed_server_goes_with_all_it_held_and_its_waiters_wait_again(world: World) -> None:
    await world.servers(server("gpu-1", slots=2), server("gpu-2"))
    await world.sees("gpu-1", "8b")
    await world.grant("t1", "8b")
    waiting = await world.waits("w1")
    await world.grant_load("t2", "14b", waiter="w1", agent="b")
    await world.plans("p1", "8b", agent="c")
    await world.waits("w2", "32b")
    await world.drain("w2")

    assert await world.servers(server("gpu-2")) is True

    replica = world.ledger.replica
    assert set(replica.servers) == {"gpu-2"}
    assert (replica.tickets, replica.loads, replica.drains) == ({}, {}, {})
    assert replica.waiters["w1"] == waiting
    assert replica.plans["p1"].ticket is None
    assert set(replica.intents) == {"c#th"}
    assert await world.releases("t1") is False
    assert await world.grant("t3", "8b") is Refusal.SERVER_GONE


async def test_a_server_registered_again_starts_unseen_and_old_probes_are_dropped(world: World) -> None:
    await world.gpu("14b")
    probe = await world.ledger.probe_begin(server="gpu-1", lease_s=20.0)
    await world.servers()

    await world.servers(server())

    assert world.record() == ServerRecord(config=server())
    assert probe is not None
    assert await world.ledger.probe_end(server="gpu-1", probe=probe, seen=ServerSeen(ready=True)) is False


async def test_names_may_hold_what_names_hold(world: World) -> None:
    await world.servers(server("team-b/gpu-1", slots=2))
    await world.sees("team-b/gpu-1")

    assert await world.grant_load("t1", "hf.co/x/y:Q4", server="team-b/gpu-1", footprint_mib=1000) is None
    assert await world.grant('t"2\\ü', "hf.co/x/y:Q4", server="team-b/gpu-1", agent="ä b") is None
    assert set(world.tickets) == {"t1", 't"2\\ü'}


async def test_a_server_is_not_asked_again_too_soon_whoever_asks(world: World) -> None:
    """Two timers, or a worker that comes back to a heap of old messages, must not double the probes (C90)."""
    await world.servers(server())
    first = await world.ledger.probe_begin(server="gpu-1", lease_s=1.0, every_s=10.0)
    world.clock.advance(9)

    assert first is not None
    assert await world.ledger.probe_begin(server="gpu-1", lease_s=1.0, every_s=10.0) is None
    assert await world.ledger.probe_begin(server="gpu-1", lease_s=1.0, every_s=5.0) is not None
    world.clock.advance(10)
    assert await world.ledger.probe_begin(server="gpu-1", lease_s=1.0, every_s=10.0) is not None


async def test_where_a_server_s_address_leads_is_kept_until_it_has_another_one(world: World) -> None:
    await world.servers(server())
    assert await world.sees("gpu-1", addresses=("10.0.0.5", "[fd00::5]")) is True
    assert await world.sees("gpu-1", addresses=("10.0.0.5", "[fd00::5]")) is False
    assert world.record().seen.addresses == ("10.0.0.5", "[fd00::5]")
    assert await world.sees("gpu-1", addresses=()) is True
    assert world.record().seen.addresses == ()

    await world.sees("gpu-1", addresses=("10.0.0.5",))
    await world.servers(server(endpoint="http://elsewhere"))
    assert world.record().seen.addresses == ()
