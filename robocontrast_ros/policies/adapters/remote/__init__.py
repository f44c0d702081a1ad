"""Policies that run in another process or on another host (docs/remote_policies.md)."""
