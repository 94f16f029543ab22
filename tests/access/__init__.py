"""Tests of who asks and what they may do."""
