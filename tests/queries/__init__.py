"""The read side, on real tables."""
