"""Tests of what people look at, as values."""
