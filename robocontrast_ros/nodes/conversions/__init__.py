"""Pure functions that convert domain values to messages and back."""
