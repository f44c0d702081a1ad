"""A policy that fails in the ways policies do, one way a trial, for a session that must go on all the same."""

from __future__ import annotations

import itertools
import time

import numpy as np

from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.protocol import PolicyDescription

HANGS = 15.0
"""How long it does not answer once [s]."""
STEPS_BEFORE = 3
"""Control steps that it does well before it fails."""


def _raise():
    raise RuntimeError("no idea")


FAILURES = (
    (Fault.POLICY_RAISED, _raise),
    (Fault.POLICY_TIMEOUT, lambda: time.sleep(HANGS)),
    (Fault.POLICY_NOT_FINITE, lambda: [[float("nan"), 0.0]]),
    (Fault.POLICY_WRONG_SHAPE, lambda: [[0.0, 0.0, 0.0]]),
    (Fault.POLICY_UNSAFE, lambda: [[0.02, 0.0]]),
)
"""What happens in the first trials of a process, in this order; in later ones it does not fail.

The last one is no fault of a robot without narrow limits.
"""


class Misbehaving:
    """Creeps, and fails."""

    # Of the class, since a policy that hung is loaded afresh.
    trials = itertools.count()

    @classmethod
    def from_file(cls, path):
        return cls()

    def describe(self):
        return PolicyDescription("misbehaving", "planar_delta", 2)

    def reset(self, instruction, seed):
        self.trial, self.steps = next(self.trials), 0

    def act(self, observation):
        self.steps += 1
        if self.steps > STEPS_BEFORE and self.trial < len(FAILURES):
            return FAILURES[self.trial][1]()
        return np.full((1, 2), 0.001)
