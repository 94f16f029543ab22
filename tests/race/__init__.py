"""Many processes that fight over one ledger on a real Valkey, some of them killed at any moment."""
