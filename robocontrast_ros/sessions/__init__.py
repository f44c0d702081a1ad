"""An evaluation session: its parameters, its journal, and the loop that runs it on a bench."""
