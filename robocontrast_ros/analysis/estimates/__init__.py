"""Means, differences and efforts of runs, with intervals."""
