"""Bases of tasks: the keys of every task's file, and scenes of a world model and models of things."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.tasks.portraits import ModelPortraits
from robocontrast_ros.tasks.protocol import Polygon, Task


@record
class TaskParameters:
    """The keys of every task's file."""

    task: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the task in results")
    world: str = Field(description="URI of the world model, without the objects that are drawn into it")
    control_rate: float = Field(gt=0, description="control steps a second of simulated time [Hz]")
    physics_step: float = Field(gt=0, le=0.01, description="step of the embedded simulator's physics [s]")
    step_limit: int = Field(gt=0, description="control steps after which a trial ends")


@dataclass(frozen=True)
class ModelScenes:
    """A world model, and a model of each of its possible things; the further attributes are those of ``Scenes``.

    Attributes:
        covers: model -> its outline seen from above, in its frame, shape (n, 2) [m].
        thing: word for the models' things, for messages.
    """

    world: str
    physics_step: float
    models: Mapping[str, str]
    covers: Callable[[str], Polygon]
    start_position: tuple[float, float, float] | None = None
    region: tuple[tuple[float, float], tuple[float, float], tuple[float, float]] | None = None
    thing: str = "model"
    clear_height: float = 0.0

    def outline(self, model: str) -> Polygon:
        """Return the polygon that a model covers, in its frame, shape (n, 2) [m].

        Raises:
            KeyError: the task has no such model.
        """
        if model not in self.models:
            raise KeyError(f"no {self.thing} '{model}'; there are: {', '.join(self.models)}")
        return self.covers(model)


class ModelTask(Task, ABC):
    """A task with the numbers of a file, whose things have models.

    Attributes:
        parameters: record of the file.
    """

    def __init__(self, parameters: TaskParameters, families: tuple[str, ...], scenes: ModelScenes) -> None:
        """Take the file, the families of instructions and the scenes."""
        self.parameters, self.families, self.scenes = parameters, families, scenes
        self.name = parameters.name
        self.control_rate, self.step_limit = parameters.control_rate, parameters.step_limit
        self.portraits = ModelPortraits(scenes.models)

    def family(self, rng: np.random.Generator, family: str | None) -> str:
        """Return a family of instructions: the given one, or a drawn one.

        Raises:
            ValueError: the given family is unknown.
        """
        if family is not None and family not in self.families:
            raise ValueError(f"family: got '{family}', expected one of {', '.join(self.families)}")
        return family or self.families[rng.integers(len(self.families))]
