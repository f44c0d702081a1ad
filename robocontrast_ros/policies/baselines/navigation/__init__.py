"""Policies that drive a mobile robot to what an instruction names (docs/policies.md)."""
