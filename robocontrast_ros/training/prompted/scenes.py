"""Test instances of a task as training data, and pictures of its blocks; nothing is simulated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.images.portraits import portrait
from robocontrast_ros.policies.prompted.network import PICTURE
from robocontrast_ros.policies.prompted.structure import CLASSES, ROLES, labels
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.training.shards import Stored

PARTS = (*ROLES, *CLASSES)
"""Columns of the labels."""


@record
class SceneParameters:
    """Parameters of the instances."""

    shards: int = Field(ge=2, description="number of files; the first twentieth, at least one, is for validation")
    instances: int = Field(gt=0, description="in one shard")
    seed: int = Field(ge=0, description="of all draws; evaluations must use other seeds")


@dataclass
class Instances(Stored):
    """n instances with the same s blocks.

    Attributes:
        names: of the blocks, in the order in which the task lists them, shape (s,).
        poses: x, y [m] and yaw [rad] of each, shape (n, s, 3).
        labels: class of each of PARTS, -1 for none, shape (n, len(PARTS)); of an object its place in the list.
    """

    names: NDArray[np.str_]
    poses: NDArray[np.float32]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Instances:
        """Read files of one task."""
        parts = [cls.load(path) for path in paths]
        poses, classes = (np.concatenate([getattr(part, name) for part in parts]) for name in ("poses", "labels"))
        return cls(parts[0].names, poses, classes)


@dataclass
class Portraits(Stored):
    """Pictures of blocks alone.

    Attributes:
        names: of the blocks, shape (m,).
        pictures: uint8, at y yaws that share a turn evenly, shape (m, y, PICTURE, PICTURE, 3).
    """

    names: NDArray[np.str_]
    pictures: NDArray[np.uint8]

    def of(self, names: Sequence[str]) -> NDArray[np.uint8]:
        """Return the pictures of some blocks."""
        known = self.names.tolist()
        return self.pictures[[known.index(name) for name in names]]


def make_instances(task_file: str, parameters: SceneParameters, index: int) -> Instances:
    """Draw the instances of a file, each as the task draws a test instance.

    Args:
        task_file: URI or path of the task's file.
        parameters: number of instances, and the seed.
        index: number of the file; the draws depend on it, the parameters and the task alone.
    """
    task = LanguageTable.from_file(resolve_uri(task_file))
    rng = np.random.default_rng([parameters.seed, index])
    names = task.parameters.blocks
    poses, classes = [], []
    for number in range(parameters.instances):
        drawn = task.sample(rng, f"{index}-{number}")
        found = labels(drawn.instruction, names)
        classes.append([found[part] for part in PARTS])
        poses.append([(*drawn.scene[name].pose.xy, drawn.scene[name].pose.yaw) for name in names])
    return Instances(np.array(names), np.array(poses, dtype=np.float32), np.array(classes))


def portraits_of(task: LanguageTable, yaws: int) -> Portraits:
    """Draw every block that may be in the scenes of a task, alone.

    Raises:
        RenderingUnavailable: this machine cannot draw.
    """
    names = list(task.scenes.models)
    pictures = []
    for name in names:
        spec = mujoco.MjSpec.from_file(str(resolve_uri(task.scenes.models[name])))
        pictures.append([portrait(spec, math.tau * number / yaws, PICTURE) for number in range(yaws)])
    return Portraits(np.array(names), np.array(pictures))
