"""What the watchdog node consists of."""
