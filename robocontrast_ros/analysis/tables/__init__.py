"""Results as tables for the terminal, for a paper and as CSV."""
