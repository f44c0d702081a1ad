"""Random generators from the session's seed and the keys of a draw, independent of earlier draws."""

from __future__ import annotations

import hashlib
import json

import numpy as np


def _sequence(seed: int, keys: tuple[str | int, ...]) -> np.random.SeedSequence:
    digest = hashlib.sha256(json.dumps([seed, *keys]).encode()).digest()
    return np.random.SeedSequence(np.frombuffer(digest, dtype="<u4").tolist())


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of one purpose, the same on every machine and in every order of calls."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, keys)))


def trial_seed(seed: int, base_id: str, repeat: int) -> int:
    """Return the seed of the policy's own randomness in one trial, in [0, 2**32).

    A base trial and its perturbed trials have the same one: their scores then differ by the perturbation, and by no
    other luck (common random numbers; Law, Simulation Modeling and Analysis, section 11.2). So a policy that sees the
    seed cannot infer the perturbation from it.
    """
    return int(_sequence(seed, ("trial", base_id, repeat)).generate_state(1)[0])
