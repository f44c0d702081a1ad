"""The results of a run: scores from its bags, tables, means with intervals, pictures."""
