"""Tests of the house: settings, identity, errors, processes."""
