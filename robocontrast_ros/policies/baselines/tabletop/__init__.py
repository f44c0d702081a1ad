"""Policies for the task ``tabletop``: the oracle, and the control that ignores the instruction."""
