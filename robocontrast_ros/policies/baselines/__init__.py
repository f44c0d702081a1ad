"""Policies to compare with: oracles, noise, random actions, a modular baseline."""
