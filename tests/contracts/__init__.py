"""One suite per port, run against every implementation of it."""
