"""Behaviour cloning for the kitchen task, from the true poses of all things and parts (docs/kitchen_policies.md)."""
