"""What an arm holds at its flange: a rod or a hand, found by entry point."""
