"""A policy that is what its file says: for tests of who fits whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robocontrast_ros.domain import ActionConventions
from robocontrast_ros.policies.protocol import PolicyDescription


class Described:
    """Its file holds the fields of its description; it stands still."""

    def __init__(self, description: PolicyDescription) -> None:
        self._description = description

    @classmethod
    def from_file(cls, path):
        fields: dict[str, Any] = yaml.safe_load(path.read_text())
        del fields["policy"]
        fields["conventions"] = ActionConventions(**fields.get("conventions", {}))
        fields["image_sizes"] = tuple(size and tuple(size) for size in fields.get("image_sizes", ()))
        return cls(PolicyDescription(**{**fields, "cameras": tuple(fields.get("cameras", ()))}))

    def describe(self):
        return self._description

    def reset(self, instruction, seed):
        pass

    def act(self, observation):
        return np.zeros((1, self._description.action_size))


class DescribedByFile(Described):
    """The same, for which its file speaks without its being made."""

    @classmethod
    def describe_file(cls, path):
        return Described.from_file(path).describe()

    @classmethod
    def from_file(cls, path):
        raise AssertionError("it is not to be made")


def write_described(path: Path, policy: str = "described_policies:Described", **fields: Any) -> Path:
    """Write the file of such a policy; a planar one unless the fields say otherwise."""
    content = {
        "policy": policy,
        "name": path.stem,
        "action_space": "planar_delta",
        "action_size": 2,
        **fields,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path
