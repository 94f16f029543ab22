"""Names of the tasks. Publishers send by name, so that services and tasks need not know each other."""

TICK = "scheduler.tick"
PROJECT = "scheduler.project"
FORGET = "scheduler.forget"
CONFIGURE = "scheduler.configure"
RUN_CYCLE = "scheduler.run_cycle"
RUN_LOAD = "scheduler.run_load"
PROBE_DUE = "scheduler.probe_due"
