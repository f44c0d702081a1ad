"""Which trial comes next, and what setting it up costs (seed 000, sections 3 to 5)."""
