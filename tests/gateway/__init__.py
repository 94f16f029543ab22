"""Tests of the gateway: the dialects as values and bytes, and the whole of it over sockets."""
