"""A small network understands prompts of words and pictures, the oracle pushes (docs/prompted.md)."""
