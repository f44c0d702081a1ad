"""Policies that load, warm up and end in every way that policies do; their parameter files say how."""

from __future__ import annotations

import threading
import time
import weakref
from pathlib import Path

import numpy as np
import yaml

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.protocol import PolicyDescription, PolicyFault

NEVER = threading.Event()
"""Nobody sets it, but tests that let a policy go in the end."""

made: list[weakref.ref[Creeping]] = []
"""The policies that were made in this process."""

closed: list[str] = []
"""The names of those that were closed, in order, each with its thread's name."""


class Creeping:
    """Moves by ``step`` [m] along x.

    Keys of its file: name, step, action_size, cameras; loading, describing, warming, acting and closing: `raise`,
    `hang`, `refuse` (loading alone), a number of seconds, or the path of a file whose coming is waited for.
    """

    @classmethod
    def from_file(cls, path):
        """Load as the file says."""
        content = yaml.safe_load(path.read_text())
        if content.get("loading") == "refuse":
            raise ConfigurationError(str(path), "checkpoint", "none.pt", "a file that exists")
        misbehave(content.get("loading"))
        policy = cls()
        policy.content, policy.warm = content, 0
        made.append(weakref.ref(policy))
        return policy

    def describe(self):
        """Describe as the file says."""
        misbehave(self.content.get("describing"))
        return PolicyDescription(
            self.content.get("name", "creeping"),
            self.content.get("action_space", "planar_delta"),
            self.content.get("action_size", 2),
            cameras=tuple(self.content.get("cameras", ())),
        )

    def reset(self, instruction, seed):
        """Take note of nothing."""

    def act(self, observation):
        """Creep."""
        misbehave(self.content.get("acting"))
        if self.content.get("cameras"):
            assert set(observation.images) == set(self.content["cameras"])
        return np.array([[self.content.get("step", 0.001), 0.0]])


class Warm(Creeping):
    """The same, with a warm-up and an end."""

    def warm_up(self):
        """Count."""
        misbehave(self.content.get("warming"))
        self.warm += 1

    def close(self):
        """Write down that it was closed."""
        misbehave(self.content.get("closing"))
        if self.content.get("closing") == "hang":
            return
        closed.append(f"{self.content.get('name')} on {threading.current_thread().name}")


def misbehave(how):
    """Do what a file says."""
    if how == "raise":
        raise RuntimeError("no idea")
    if how == "fault":
        raise PolicyFault(Fault.POLICY_UNREADABLE, "it answered in riddles")
    if how == "hang":
        NEVER.wait()
    if isinstance(how, float):
        time.sleep(how)
    if isinstance(how, str) and how.startswith("/"):
        while not Path(how).exists():
            time.sleep(0.01)
