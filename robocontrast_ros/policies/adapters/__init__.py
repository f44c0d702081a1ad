"""Policies of other software behind our protocol: servers of other frameworks, networks of PyTorch."""
