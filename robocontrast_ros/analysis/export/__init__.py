"""A run in the formats of others: videos, and data sets."""
