"""The scheduler's figures, handed in at the bootstrap. Seconds unless the name says otherwise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """Every limit of the scheduling rules. The defaults are those of the rules (sections 4 to 6).

    `keep_history_s` is how long calls and server events are remembered; None is for ever.
    """

    ticket_lease_s: float = 15.0
    waiter_lease_s: float = 30.0
    runner_lease_s: float = 10.0
    wait_limit_s: float = 90.0
    plan_limit_s: float = 180.0
    intent_limit_s: float = 180.0
    drain_after_s: float = 60.0
    background_ages_s: float = 120.0
    demand_half_life_s: float = 600.0
    usual_call_s: float = 30.0
    load_block_s: float = 5.0
    load_block_max_s: float = 60.0
    load_limit_s: float = 600.0
    load_patience: float = 3.0
    load_grace_s: float = 30.0
    circuit_failures: int = 3
    circuit_rest_s: float = 10.0
    circuit_rest_max_s: float = 120.0
    wedge_silent_s: float = 60.0
    wedge_calls: float = 5.0
    probe_fast_s: float = 1.5
    probe_slow_s: float = 10.0
    probe_jitter: float = 0.9
    probe_lease_s: float = 20.0
    keep_history_s: float | None = 90 * 24 * 3600.0
    max_waiters: int = 10_000
    max_waiters_per_agent: int = 2_000
    max_commit_attempts: int = 5
