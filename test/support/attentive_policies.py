"""Policies that act on all that they are told and shown."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from pydantic_core import to_json

from robocontrast_ros.domain import segments_digest
from robocontrast_ros.policies.protocol import PolicyDescription


class Attentive:
    """Moves by a digest of the instruction and the images, so that another one gives another trial."""

    @classmethod
    def from_file(cls, path):
        return cls()

    def describe(self):
        return PolicyDescription("attentive", "planar_delta", 2, cameras=("board",))

    def reset(self, instruction, seed):
        self.words = instruction

    def act(self, observation):
        digest = hashlib.sha256(self.words.encode())
        digest.update(observation.images["board"].tobytes())
        digest.update(repr(observation.tool_pose).encode())
        return (np.frombuffer(digest.digest()[:2], np.uint8).astype(float).reshape(1, 2) - 128) / 128 * 0.02


class Reading(Attentive):
    """The same for segments with pictures and masks; it writes down what it was given, beside its parameter file."""

    @classmethod
    def from_file(cls, path):
        policy = cls()
        policy.notes = path.with_suffix(".jsonl")
        return policy

    def describe(self):
        return replace(super().describe(), name="reading", referents="crop", mask="native")

    def reset_segments(self, segments, seed):
        self.words = segments_digest(segments)
        with self.notes.open("ab") as file:
            file.write(to_json(segments, bytes_mode="base64") + b"\n")
