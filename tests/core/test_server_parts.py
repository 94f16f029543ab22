"""Changed parts of servers, put together with what is known of the rest."""

from scheduler.core.ledger import ServerConfig, ServerLearned, ServerRecord, ServerSeen
from scheduler.core.ledger_docs import server_record, to_doc
from scheduler.core.server_parts import whole_servers

KNOWN = ServerRecord(config=ServerConfig(name="gpu-1", kind="ollama", endpoint="e"), seen=ServerSeen(ready=True))


def test_a_changed_part_keeps_the_others_as_they_are():
    learned = ServerLearned(call_s=12.0)

    rows = whole_servers(servers={"gpu-1": KNOWN}, deltas=[("server:learned", "gpu-1", to_doc(learned))])

    ((table, key, doc),) = rows
    record = server_record(doc)
    assert (table, key, record) == (
        "server",
        "gpu-1",
        ServerRecord(config=KNOWN.config, seen=KNOWN.seen, learned=learned),
    )
    assert record.seen is KNOWN.seen


def test_a_new_server_comes_with_all_its_parts_in_one():
    parts = {"seen": ServerSeen(), "learned": ServerLearned(), "config": KNOWN.config}
    deltas = [(f"server:{name}", "gpu-1", to_doc(part)) for name, part in parts.items()]

    ((_, _, doc),) = whole_servers(servers={}, deltas=deltas)

    assert server_record(doc) == ServerRecord(config=KNOWN.config)


def test_everything_else_stays_as_it_is_and_in_its_order():
    deltas = [
        ("ticket", "t1", None),
        ("server:seen", "gpu-1", {}),
        ("server", "gpu-2", None),
        ("use", "m", {"count": 1}),
    ]

    rows = whole_servers(servers={"gpu-1": KNOWN}, deltas=deltas)

    assert [(table, key) for table, key, _ in rows] == [(t.partition(":")[0], key) for t, key, _ in deltas]
