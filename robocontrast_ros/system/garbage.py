"""When Python looks for unused objects, in commands, in a session's processes and in those beside a command."""

YOUNG = 50_000
"""New objects after which it looks: imports make many that stay, and looking takes a tenth of a short command."""
