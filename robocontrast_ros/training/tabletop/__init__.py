"""How the policies for the task ``tabletop`` are made."""
