"""The Language-Table task as it ships, with instances and scenes drawn from seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import strategies as st

from robocontrast_ros.configuration import dump_record, parse_record, resolve_uri
from robocontrast_ros.domain import ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters

TASK_FILE = resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml")
EIGHT = LanguageTable.from_file(TASK_FILE)
"""The task with its eight blocks: no colour and no shape is alone on the table."""

FOUR = LanguageTable(replace(EIGHT.parameters, blocks=("red_moon", "blue_cube", "green_star", "yellow_pentagon")))
"""The task with four blocks: every colour and every shape is alone."""

DISTRACTING = LanguageTable.from_file(
    resolve_uri("package://robocontrast_ros/config/tasks/language_table_distracting.yaml")
)
"""The task with its eight blocks, and eight more that are distractors alone."""


@cache
def instance(seed: int, family: str | None = None, task: LanguageTable = EIGHT) -> TestInstance:
    """Return the instance of a seed."""
    return task.sample(np.random.default_rng(seed), f"instance-{seed}", family)


def scene(**places: tuple[float, float]) -> Scene:
    """Return the scene with these blocks at these (x, y) [m]."""
    return Scene(tuple(ObjectState(n, n, Pose.planar(*xy)) for n, xy in places.items()))


def changed(**sections: dict[str, object]) -> LanguageTable:
    """Return the task with some values in sections of its file replaced."""
    content = dump_record(EIGHT.parameters)
    for section, values in sections.items():
        content[section].update(values)
    return LanguageTable(parse_record(LanguageTableParameters, content, "test"))


seeds = st.integers(0, 2**32 - 1)
few_seeds = st.integers(0, 24)
"""Seeds of instances: few, since drawing one takes time and they are kept."""
