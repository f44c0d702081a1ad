"""Scores from bags alone."""
