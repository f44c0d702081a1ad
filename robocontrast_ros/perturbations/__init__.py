"""Perturbations: small, named changes to a test instance (seed 000, section 4); one module a task family.

A perturbation is a class that fits ``protocol.Perturbation`` and is found by its entry point. It knows
an instruction by its structure and changes it, or the scene, through its task alone.
"""
