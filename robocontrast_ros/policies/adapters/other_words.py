"""The blind-language control: it passes everything on to another policy except the words of the instruction."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import Self

from robocontrast_ros.configuration import find_configured, load_configured, load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene, TestInstance
from robocontrast_ros.policies.loading import describe
from robocontrast_ros.policies.protocol import Observation, Policy, PolicyDescription
from robocontrast_ros.tasks.protocol import Task


@record
class OtherWordsParameters:
    """A file such as config/policies/tabletop_oracle_other_words.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    listener: str = Field(description="URI of the parameter file of the policy that is given other words")
    words: Literal["none", "another"] = Field(
        description="none: it is given the empty text; another: another instruction for the same scene"
    )
    task: str | None = Field(None, description="URI of the task's file, whose instructions are drawn; for `another`")

    @model_validator(mode="after")
    def _has_a_task(self) -> Self:
        if (self.task is None) == (self.words == "another"):
            raise ValueError("task: expected with `words: another`, and only there")
        return self


class OtherWords:
    """Gives a policy no words, or those of another instruction that could be given in the trial's first scene.

    The other instruction is drawn from the trial's seed (see ``another``). The instructions that a scene admits are
    known from the ground truth alone, so this control is privileged then; a listener that is not privileged itself
    is not shown the ground truth.
    """

    def __init__(self, parameters: OtherWordsParameters, listener: Policy, task: Task | None) -> None:
        self._parameters, self._listener, self._task = parameters, listener, task
        self._privileged = listener.describe().privileged
        self._given: tuple[str, int] | None = None
        self._told = False

    @classmethod
    def from_file(cls, path: Path) -> OtherWords:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit.
        """
        parameters = load_record(OtherWordsParameters, path)
        task = load_configured("tasks", resolve_uri(parameters.task, path.parent)) if parameters.task else None
        return cls(parameters, load_configured("policies", resolve_uri(parameters.listener, path.parent)), task)

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description by the file and the listener's; a listener without ``describe_file`` is loaded.

        Raises:
            ConfigurationError: a file does not fit, or the listener cannot be loaded.
        """
        parameters = load_record(OtherWordsParameters, path)
        return _described(describe(resolve_uri(parameters.listener, path.parent)), parameters)

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Return the listener's requirements besides the robot."""
        below = resolve_uri(load_record(OtherWordsParameters, path).listener, path.parent)
        return tuple(getattr(find_configured("policies", below), "needs", lambda file: ())(below))

    def describe(self) -> PolicyDescription:
        """Return the listener's description with a name of its own; privileged if another instruction is drawn."""
        return _described(self._listener.describe(), self._parameters)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; its words only serve to draw other ones."""
        self._given, self._told = (instruction, seed), False
        if self._task is None:
            self._listener.reset("", seed)
            self._told = True

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the listener's answer.

        Raises:
            ValueError: the task does not know the text that was given, no other instruction can be given in the
                scene, the observation has no scene, or reset was not called.
        """
        name = self._parameters.name
        if self._given is None:
            raise ValueError(f"{name}: act before reset; call reset(instruction, seed) first")
        if self._task is not None and observation.scene is None:
            raise ValueError(f"{name}: the observation has no scene; what can be said there is drawn by ground truth")
        if not self._told:
            self._tell(observation.scene)
        shown = observation if self._privileged else replace(observation, scene=None)
        return self._listener.act(shown)

    def warm_up(self) -> None:
        """Warm up the listener, if it can be; enumerate the task's conditions, if it has one, which takes seconds."""
        getattr(self._listener, "warm_up", lambda: None)()
        if self._task is not None:
            _conditions(self._task)

    def close(self) -> None:
        """Close the listener, if it can be closed."""
        getattr(self._listener, "close", lambda: None)()

    def _tell(self, scene: Scene) -> None:
        text, seed = self._given
        given = self._task.language.parse(text, scene)
        (rng,) = np.random.default_rng(seed).spawn(1)
        said = another(given, scene, self._task, rng)
        if said is None:
            raise ValueError(f"{self._parameters.name}: nothing else can be said in this scene than '{text}'")
        self._listener.reset(said.text, seed)
        self._told = True


@lru_cache(maxsize=4)
def _conditions(task: Task) -> dict[str, tuple[Instruction, ...]]:
    """Return a task's conditions by family; there may be thousands."""
    found: dict[str, list[Instruction]] = {}
    for condition in task.language.conditions():
        found.setdefault(condition.family, []).append(condition)
    return {family: tuple(ours) for family, ours in found.items()}


def another(given: Instruction, scene: Scene, task: Task, rng: np.random.Generator) -> Instruction | None:
    """Draw another instruction that could be given in a scene; None if there is none.

    Its family is uniform over those that the scene admits, its arguments over those of the family, and its words as in
    a drawn test instance. It is feasible there, not fulfilled already, and no argument has the value that it has in
    the instruction given: something else is to be handled, in the same way or in another.

    Args:
        given: the instruction that it replaces.
        scene: the scene in which it is given.
        task: the task, with conditions, language and planner.
        rng: source of all draws.
    """
    known = tuple(_conditions(task).values())
    for family in rng.permutation(len(known)):
        for index in rng.permutation(len(known[family])):
            condition = known[family][index]
            if set(condition.arguments) & set(given.arguments):
                continue
            try:
                said = task.language.realise(condition, scene, rng)
            except (KeyError, ValueError):  # it names something that is not there, or that cannot be named alone
                continue
            if isinstance(task.make_instance("", said, scene), TestInstance):
                return said
    return None


def _described(listener: PolicyDescription, parameters: OtherWordsParameters) -> PolicyDescription:
    privileged = listener.privileged or parameters.words == "another"
    # The listener never gets the words that are given, so they may be as long as they like.
    return replace(
        listener,
        name=parameters.name,
        privileged=privileged,
        objects=listener.shows_objects,
        max_tokens=None,
        tokenizer="",
        case="any",
        accepts_empty=True,
        referents="none",
        mask="omit",
        vocabulary=(),
    )
