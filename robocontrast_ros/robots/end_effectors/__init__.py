"""End effectors at an arm's flange: a rod or a hand, found by entry point."""
