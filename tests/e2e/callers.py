"""Callers of the REST API, as the browser tests need them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.e2e.conftest import LEASE_S, Stack


@contextmanager
def held(stack: Stack, *, may_lapse: bool = False, **wanted: object) -> Iterator[dict]:
    """Claim a ticket that must be granted, keep it alive however slow the machine is, and give it back.

    `may_lapse`: it may be gone by then, for the ledger itself was away for longer than a lease perhaps.
    """
    status, ticket = stack.rest.call("POST", "/tickets", {**wanted, "wait": 60})
    assert status == 201, ticket
    over = threading.Event()

    def renew() -> None:
        while not over.wait(LEASE_S / 4):
            with suppress(OSError):  # the web process may just be starting again; the lease outlives that
                stack.rest.call("POST", f"/tickets/{ticket['id']}/renew")

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        yield ticket
    finally:
        over.set()
        renewing.join()
        status, _ = stack.rest.call("DELETE", f"/tickets/{ticket['id']}", {"ok": True})
        assert status == 200 or (may_lapse and status == 404)


def call_once(stack: Stack, **wanted: object) -> None:
    """Make a call and end it at once."""
    with held(stack, **wanted):
        pass
