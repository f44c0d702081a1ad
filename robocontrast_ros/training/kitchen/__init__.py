"""Training of the policies for the task ``kitchen``."""
