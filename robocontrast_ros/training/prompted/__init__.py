"""Training of the policies ``prompted_*`` (docs/prompted.md)."""
