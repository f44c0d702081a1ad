"""Perturbations: small, named changes to a test instance (seed 000, section 4).

A perturbation is a class that fits ``protocol.Perturbation`` and is found by its entry point. It changes an
instruction, by its structure, or the scene, through its task alone.
"""
