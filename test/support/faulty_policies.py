"""Policies that fail in the ways policies do, for sessions that must go on all the same."""

from __future__ import annotations

import os
import time

import numpy as np

from robocontrast_ros.policies.protocol import PolicyDescription

STEPS_BEFORE = 3
"""Control steps that each of them does well before it fails."""


class _Faulty:
    def __init__(self) -> None:
        self.steps = 0

    @classmethod
    def from_file(cls, path):
        return cls()

    def describe(self):
        return PolicyDescription(type(self).__name__.lower(), "planar_delta", 2)

    def reset(self, instruction, seed):
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        return self.fail() if self.steps > STEPS_BEFORE else np.full((1, 2), 0.001)


class Raises(_Faulty):
    """Raises."""

    def fail(self):
        raise RuntimeError("no idea")


class NotFinite(_Faulty):
    """Answers NaN."""

    def fail(self):
        return [[float("nan"), 0.0]]


class WrongShape(_Faulty):
    """Answers three numbers."""

    def fail(self):
        return [[0.0, 0.0, 0.0]]


class Hangs(_Faulty):
    """Does not answer."""

    def fail(self):
        time.sleep(60)


class Dies(_Faulty):
    """Ends its process, once a file of that name says so."""

    def fail(self):
        if os.path.exists(os.environ["POLICY_DIES"]):
            os.remove(os.environ["POLICY_DIES"])
            os._exit(9)
        return np.full((1, 2), 0.001)
