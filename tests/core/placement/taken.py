"""What a decision came to, without the trace of what was weighed; or only its action, where a test says no more."""

from dataclasses import replace

from scheduler.core.decisions import Decision


def taken(decision: Decision, *, like: Decision | str) -> Decision | str:
    """Cut a decision down to what a test expects of it."""
    return decision.action if isinstance(like, str) else replace(decision, options=())
