"""Policies that run in another process or on another host, and how they are spoken to (docs/remote_policies.md)."""
