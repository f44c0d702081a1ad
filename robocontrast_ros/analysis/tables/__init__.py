"""What a run says, as tables for the terminal, for a paper and as CSV."""
