"""Means, differences and effort of runs, with intervals."""
