"""The form of the ledger's keys: what another version left is removed, and the number goes with the form."""

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import fields

import pytest
from redis import Redis

from providers.core.specs import ResourceGroup
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, Circuit
from scheduler.core.ledger import Intent, Plan, ServerConfig, ServerLearned, ServerSeen, Use
from scheduler.core.server import Resident
from scheduler.core.types import Candidate, Drain, LoadUnderWay, Ticket, Waiter
from scheduler.stores.layout import LAYOUT, root_of
from scheduler.stores.ledger import RedisLedger
from scheduler.stores.ledger_functions import FOLDER

SERVER = ServerConfig(name="gpu-1", kind="ollama", endpoint="e")
STORED = ("server:config", "server:learned", "server:seen")


@pytest.fixture
def client() -> Iterator[Redis]:
    """Give a way around the ledger."""
    with Redis.from_url(os.environ["REDIS_URL"]) as raw:
        yield raw


@pytest.fixture
def name() -> str:
    """Name a ledger of one's own."""
    return secrets.token_hex(6)


async def servers_of(name: str, *, register: bool = False) -> set[str]:
    """Start a process on a ledger, register a server where asked to, and name the servers it knows."""
    ledger = RedisLedger(url=os.environ["REDIS_URL"], name=name, config=SchedulerConfig(), timeout_s=10)
    await ledger.start()
    if register:
        await ledger.configure(servers=[SERVER], footprints={}, weights={})
    known = set(ledger.replica.servers)
    await ledger.close()
    return known


async def test_what_another_layout_left_is_removed_with_a_sentence_and_everything_begins_afresh(
    client: Redis, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A data folder of an older version failed with WRONGTYPE, or was misread."""
    client.set(f"km:{{{name}}}:ticket", "a table that is a hash today")
    client.hset(f"km:{{{name}}}:meta", "version", 7)
    client.zadd(f"km:{{{name}}}:0:lease:ticket", {"t1": 1.0})
    client.set(f"km:{{{name}x}}:ticket", "another installation's")

    assert await servers_of(name, register=True) == {"gpu-1"}

    assert {key.decode() for key in client.scan_iter(f"km:{{{name}}}:*")} == {
        f"km:{{{name}}}:layout",
        *(f"{root_of(name=name)}:{key}" for key in ("deltas", "journal", "meta", *STORED)),
    }
    assert client.exists(f"km:{{{name}x}}:ticket")
    (said,) = [record.getMessage() for record in caplog.records if "ledger_begins_afresh" in record.getMessage()]
    assert said.startswith(f"ledger_begins_afresh layout={LAYOUT} keys_removed=3: another version of Kubemoot left")


async def test_what_this_layout_holds_is_kept_and_nothing_is_said(
    client: Redis, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also by a process that has just seen another layout's mark: others may be at work on this one already."""
    await servers_of(name, register=True)
    assert await servers_of(name) == {"gpu-1"}
    client.set(f"km:{{{name}}}:layout", LAYOUT - 1)

    assert await servers_of(name) == {"gpu-1"}

    assert client.get(f"km:{{{name}}}:layout") == str(LAYOUT).encode()
    assert "ledger_begins_afresh" not in caplog.text


FORM = {
    "documents": {
        ServerConfig: "name kind endpoint weight total_mib reserve_mib slots max_concurrent interactive_reserve"
        " resource_group context_length can_load call_timeout_s aborts_on_disconnect quarantine_on_ambiguous fail_mode"
        " secret",
        ResourceGroup: "name max_concurrent",
        ServerSeen: "phase ready since detail residents models observed estimated version probed_at addresses",
        ServerLearned: "load_mib_per_s call_s success_rate blocked_until failures load_problem circuit answered_at",
        Admission: "state reason since by cause",
        Circuit: "failures openings opened_at rests_until trial status",
        Resident: "model footprint_mib context_length last_used spilling queued aliases accelerator_percent",
        Ticket: "id server agent model state started_at footprint_mib evicts priority crew thread phase purpose asked"
        " action evicted arrived_at granted_at call waiter plan key key_limit left_at",
        LoadUnderWay: "server model footprint_mib started_at evicts",
        Waiter: "id agent candidates arrived_at limit_at tolerance prompt_tokens priority crew thread phase purpose"
        " plan start_tag model server action eta_s ticket stood_aside reason key key_limit",
        Candidate: "model score servers",
        Drain: "model agent victims since waiter",
        Plan: "id agent thread crew created_at ticket trace",
        Intent: "agent thread models at",
        Use: "count at",
    },
    "keys": {
        "hash": "barrier drain_of fair: footprint held_intent intent load meta on: probed probing progress runner"
        " server:admission server:config server:learned server:seen waiter weight",
        "set": "group: line_of: loads: of_key:",
        "sorted set": "age:intent age:plan lease:runner lease:ticket lease:waiter",
        "stream": "deltas journal",
    },
    "packed": "model state priority agent evicts",
}
KINDS = {"H": "hash", "S": "set", "Z": "sorted set", "X": "stream"}


def test_whoever_changes_the_form_raises_its_number() -> None:
    """When this fails: raise LAYOUT, then write the new form and number here. Else older data is misread."""
    scripts = "".join(path.read_text() for path in sorted(FOLDER.glob("*.lua")))
    keys: dict[str, set[str]] = {}
    for command, key in re.findall(r"redis\.call\('([A-Z]+)', key\('([a-z_:]+)'", scripts):
        keys.setdefault(KINDS[command[0]], set()).add(key)
    (packed,) = re.findall(r"cmsgpack\.pack\(\{(.*?)\}\)", scripts, re.DOTALL)

    form = {
        "documents": {kind: " ".join(field.name for field in fields(kind)) for kind in FORM["documents"]},
        "keys": {kind: " ".join(sorted(names)) for kind, names in keys.items()},
        "packed": re.sub(r"\s+", "", packed).replace("ticket.", "").replace(",", " "),
    }
    assert (LAYOUT, form) == (11, FORM)
