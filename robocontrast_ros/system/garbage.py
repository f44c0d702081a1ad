"""Python's collection of unused objects in commands, in a session's processes and in those beside a command."""

YOUNG = 50_000
"""New objects before a collection: imports make many that stay, and collections take a tenth of a short command."""
