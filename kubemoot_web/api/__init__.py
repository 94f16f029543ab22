"""REST for agents and tools."""
