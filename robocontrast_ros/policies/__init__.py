"""Policies: the protocol, the built-in ones, and the runner that checks their answers (docs/policies.md)."""
