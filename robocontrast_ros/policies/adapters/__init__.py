"""Adapters of policies made with other software: servers of other frameworks, PyTorch networks."""
