"""Baselines of Language-Table."""
