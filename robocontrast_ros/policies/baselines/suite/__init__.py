"""Baselines of the suite of tasks."""
