"""The `robocontrast` command."""
