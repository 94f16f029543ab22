"""Drivers that keep state: the ledger in Redis, rows through the ORM. They move bytes and never decide."""
