"""Scores from bags alone, also under other thresholds."""
