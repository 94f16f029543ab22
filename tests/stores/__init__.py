"""Drivers that keep state, against the real thing."""
