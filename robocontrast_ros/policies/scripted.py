"""Bases of policies that follow rules: made from their parameter file alone, or from it and a task's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_plugin, load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.tasks.protocol import Task


@record
class PolicyParameters:
    """Keys of the file of every policy of this package."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    vocabulary: str = Field(
        default="", description="URI of a text file with the words of its training, one word or expression a line"
    )


@record
class OracleParameters(PolicyParameters):
    """Keys of the file of every oracle."""

    task: str = Field(description="URI of the task's file")


@record
class ByOracleParameters(PolicyParameters):
    """Keys of the file of every policy that acts as an oracle does."""

    oracle: str = Field(description="URI of the oracle's parameter file")


class ScriptedPolicy(ABC):
    """A policy that its parameter file describes.

    Attributes:
        parameters: record of the file.
        answers: description of the policy, without its name.
    """

    parameters: ClassVar[type[PolicyParameters]]
    answers: ClassVar[PolicyDescription]

    def __init__(self, parameters: Any) -> None:
        """Take the file's record. Before the first trial there is no instruction, and the seed is 0."""
        self._p = parameters
        self._text: str | None = None
        self._rng = np.random.default_rng(0)

    @classmethod
    def from_file(cls, path: Path) -> ScriptedPolicy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit.
        """
        return cls(load_record(cls.parameters, path))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file, without its task.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return replace(cls.answers, name=load_record(cls.parameters, path).name)

    def describe(self) -> PolicyDescription:
        """Return its inputs and outputs."""
        return replace(self.answers, name=self._p.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial: the words, and the seed of all its randomness."""
        self._text, self._rng = instruction, np.random.default_rng(seed)

    @abstractmethod
    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next actions, shape (n, action_size)."""


class OraclePolicy(ScriptedPolicy):
    """A policy that is shown the ground truth, and has a skill for the instruction in a trial's first scene.

    Attributes:
        of_task: plug-in of the task that it knows.
    """

    of_task: ClassVar[str]

    def __init__(self, parameters: Any, task: Any) -> None:
        super().__init__(parameters)
        self._task = task
        self._skill: Any = None

    @property
    def task(self) -> Any:
        """The task that it knows."""
        return self._task

    @classmethod
    def from_file(cls, path: Path) -> OraclePolicy:
        """Return the oracle that a parameter file describes, with the task that the file names.

        Raises:
            ConfigurationError: one of both files does not fit.
        """
        return cls(*cls.read(path))

    @classmethod
    def read(cls, path: Path) -> tuple[Any, Task]:
        """Return the record of a parameter file, and the task that it names.

        Raises:
            ConfigurationError: one of both files does not fit.
        """
        parameters = load_record(cls.parameters, path)
        # Its module is large, and a policy's description does not need it.
        task = load_plugin("tasks", cls.of_task, str(path), "task")
        return parameters, task.from_file(resolve_uri(parameters.task, path.parent))

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial."""
        super().reset(instruction, seed)
        self._skill = None

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next action, shape (1, action_size).

        Raises:
            ValueError: reset was not called, the observation lacks something, the text is not of the task's grammar,
                or it cannot be carried out.
        """
        name = self.describe().name
        if self._text is None:
            raise ValueError(f"{name}: act before reset; call reset(instruction, seed) first")
        if lacking := self.lacking(observation):
            raise ValueError(f"{name}: the observation has no {lacking}")
        if self._skill is None:
            self._skill = self.first_skill(self._text, observation.scene)
        return self.step(observation)

    def lacking(self, observation: Observation) -> str:
        """Return the missing part of an observation, and the need for it, in words; empty if nothing is missing."""
        return "scene; it needs the ground truth" if observation.scene is None else ""

    def first_skill(self, text: str, start: Scene) -> Any:
        """Return the skill of a trial.

        Raises:
            ValueError: the text is not of the task's grammar, or it cannot be carried out.
        """
        return self.skill(self._task.language.parse(text, start), start)

    @abstractmethod
    def skill(self, instruction: Instruction, start: Scene) -> Any:
        """Return the skill for an instruction given in a starting scene.

        Raises:
            ValueError: it cannot be carried out.
        """

    @abstractmethod
    def step(self, observation: Observation) -> NDArray[np.float64]:
        """Return the skill's next action, shape (1, action_size)."""


class ByOracle(OraclePolicy):
    """An oracle that understands, or acts, in its own way; its file names the oracle's. Subclasses inherit from both.

    Attributes:
        oracle: the oracle.
    """

    oracle: ClassVar[type[OraclePolicy]]

    def __init__(self, own: Any, parameters: Any, task: Any) -> None:
        """Take the record of its own file, then the oracle's record and task."""
        super().__init__(parameters, task)
        self._own = own

    @classmethod
    def from_file(cls, path: Path) -> ByOracle:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit.
        """
        own = load_record(cls.parameters, path)
        return cls(own, *cls.oracle.read(resolve_uri(own.oracle, path.parent)))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file, by that of its oracle's.

        Raises:
            ConfigurationError: one of both files does not fit.
        """
        own = load_record(cls.parameters, path)
        return replace(cls.oracle.describe_file(resolve_uri(own.oracle, path.parent)), name=own.name)

    def describe(self) -> PolicyDescription:
        """Return the oracle's description with a name of its own."""
        return replace(super().describe(), name=self._own.name)
