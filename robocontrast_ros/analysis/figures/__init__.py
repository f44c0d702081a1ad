"""Pictures of runs and trials."""
