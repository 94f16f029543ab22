"""Celery tasks: one line of work each. Unknown keywords are a newer publisher, not an error.

None of them waits for an engine: they start the work on the process's event loop and return. Leases in the ledger make
a second delivery harmless, and the tick finds again whatever a lost message left undone.
"""

from celery import shared_task

from scheduler import bootstrap
from scheduler.bootstrap import Runtime
from scheduler.services.configure import ledger_configure
from scheduler.services.cycle import run_cycle as cycle_run
from scheduler.services.loads import load_drive
from scheduler.services.probing import server_probe, servers_due
from scheduler.services.project import history_forget
from scheduler.services.project import project as journal_project
from scheduler.services.tick import tick as ledger_tick
from scheduler.task_names import CONFIGURE, FORGET, PROBE_DUE, PROJECT, RUN_CYCLE, RUN_LOAD, TICK


@shared_task(name=TICK)
def tick(**_: object) -> None:
    """Reap leases, take up loads that nobody drives, plan for whoever waits, have history written."""
    bootstrap.spawn(
        lambda rt: ledger_tick(ledger=rt.ledger, effects=rt.effects, config=rt.config, now=rt.now, written=rt.written),
        key=TICK,
    )


@shared_task(name=RUN_CYCLE)
def run_cycle(**_: object) -> None:
    """Plan once for whoever waits."""
    bootstrap.spawn(
        lambda rt: cycle_run(ledger=rt.ledger, effects=rt.effects, config=rt.config, now=rt.now()), key=RUN_CYCLE
    )


@shared_task(name=PROJECT)
def project(**_: object) -> None:
    """Write the journal down as history."""
    bootstrap.spawn(lambda rt: journal_project(ledger=rt.ledger, history=rt.history, written=rt.written), key=PROJECT)


@shared_task(name=FORGET)
def forget(**_: object) -> None:
    """Forget history that is older than it is kept."""
    bootstrap.spawn(lambda rt: history_forget(history=rt.history, config=rt.config, now=rt.now()), key=FORGET)


@shared_task(name=CONFIGURE)
def configure(**_: object) -> None:
    """Bring the registered resources into the ledger."""
    bootstrap.spawn(
        lambda rt: ledger_configure(
            ledger=rt.ledger, catalog=rt.catalog, effects=rt.effects, config=rt.config, now=rt.now()
        ),
        key=CONFIGURE,
    )


@shared_task(name=RUN_LOAD)
def run_load(*, server: str, model: str, **_: object) -> None:
    """Drive one load to its end."""
    bootstrap.spawn(
        lambda rt: load_drive(
            ledger=rt.ledger,
            effects=rt.effects,
            engine=rt.engine,
            config=rt.config,
            ids=rt.ids,
            now=rt.now,
            server=server,
            model=model,
        ),
        key=f"{RUN_LOAD} {server} {model}",
    )


@shared_task(name=PROBE_DUE)
def probe_due(**_: object) -> None:
    """Probe every server whose time has come, each on its own, so that none waits for a server that hangs."""
    bootstrap.spawn(_probe_due, key=PROBE_DUE)


async def _probe_due(rt: Runtime) -> None:
    for server in servers_due(replica=rt.ledger.replica, config=rt.config, now=rt.now()):
        bootstrap.spawn(_probe(server), key=f"{PROBE_DUE} {server}")


def _probe(server: str) -> bootstrap.Work:
    return lambda rt: server_probe(
        ledger=rt.ledger,
        effects=rt.effects,
        engine=rt.engine,
        resolver=rt.resolver,
        config=rt.config,
        now=rt.now,
        server=server,
    )
