"""What an image shows, whatever took it."""
