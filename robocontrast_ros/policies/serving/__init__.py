"""Serving a policy: checks and time limits, its lifecycle, swapping it while it runs."""
