"""Behaviour cloning for the tabletop task, from object slots or from pixels (docs/tabletop_policies.md)."""
