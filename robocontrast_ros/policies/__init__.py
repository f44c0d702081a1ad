"""Policies: the protocol, the built-in ones, and the runner that checks whatever they answer (docs/policies.md)."""
