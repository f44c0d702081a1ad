"""Policies that drive a mobile robot to the places that an instruction names (docs/navigation_policies.md)."""
