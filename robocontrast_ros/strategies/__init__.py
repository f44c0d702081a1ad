"""The order of trials, and the cost of setting them up (seed 000, sections 3 to 5)."""
