"""Use cases of the scheduler: load, ask the core, commit, then effects."""
