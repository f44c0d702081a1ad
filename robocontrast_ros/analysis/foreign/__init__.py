"""Results of other tools, and the verdict of one against another."""
