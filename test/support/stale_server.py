"""A policy server that goes on with what it received first, or does not say what it received.

Run as a program, it is the node of a policy server; its fault is at each time the one that a file names, whose path is
in the environment variable STALE.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from robocontrast_ros.domain import Observed
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.serving.runner import PolicyRunner

_reset, _act = PolicyRunner.reset, PolicyRunner.act


class Staring:
    """A policy that is shown images and stays where it is."""

    @classmethod
    def from_file(cls, path):
        return cls()

    def describe(self):
        return PolicyDescription("staring", "planar_delta", 2, cameras=("board",))

    def reset(self, instruction, seed):
        pass

    def act(self, observation):
        return np.zeros((1, 2))


class Seeing(Staring):
    """The same, which takes pictures of what is named."""

    def describe(self):
        return replace(super().describe(), name="seeing", referents="crop")

    def reset_segments(self, segments, seed):
        pass


def first_instruction() -> dict[str, Callable]:
    """Return what a runner does that gives its policy the instruction of the first trial in every trial."""
    given = []

    def reset(self, instruction, seed, segments=()):
        given.append(instruction)
        _reset(self, given[0], seed, segments)

    return {"reset": reset}


def first_images() -> dict[str, Callable]:
    """Return what a runner does that shows its policy the first images that it received, at all times."""
    shown = []

    def act(self, observation):
        shown.append({name: image.copy() for name, image in observation.images.items()})
        return _act(self, replace(observation, images=shown[0]))

    return {"act": act}


def no_pictures() -> dict[str, Callable]:
    """Return what a runner does that loses the pictures of an instruction."""

    def reset(self, instruction, seed, segments=()):
        _reset(self, instruction, seed, tuple(replace(segment, crop=None) for segment in segments))

    return {"reset": reset}


def words_alone() -> dict[str, Callable]:
    """Return what a runner does that loses the segments of an instruction."""
    return {"reset": lambda self, instruction, seed, segments=(): _reset(self, instruction, seed)}


def silence() -> dict[str, Callable]:
    """Return what a runner does that does not say what it received."""
    return {"act": lambda self, observation: replace(_act(self, observation), observed=Observed())}


FAULTS = {fault.__name__: fault for fault in (first_instruction, first_images, no_pictures, words_alone, silence)}


def named_in(file: Path, method: str, honest: Callable) -> Callable:
    """Return what a runner does that has the fault that a file names, and none while the file is empty."""
    faults = {name: fault() for name, fault in FAULTS.items()}

    def call(self, *given, **named):
        return faults.get(file.read_text(), {}).get(method, honest)(self, *given, **named)

    return call


if __name__ == "__main__":
    from robocontrast_ros.nodes.policy_server_node import main

    for name, method in (("reset", _reset), ("act", _act)):
        setattr(PolicyRunner, name, named_in(Path(os.environ["STALE"]), name, method))
    main()
