"""Policies for the task ``tabletop``: the oracle, and the control that does not listen."""
