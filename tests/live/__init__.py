"""Tests of what moves."""
