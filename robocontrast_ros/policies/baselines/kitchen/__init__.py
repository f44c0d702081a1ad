"""Scripted policies of the kitchen task."""
