"""Whether a policy takes in all that a trial tells and shows it: else its result would not be about the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import NotApplicable, Perturbed, Scene, TestInstance
from robocontrast_ros.observations.protocol import ObservationFilter, displaces_cameras
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.perturbations.tokens import Tokens
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.segments import as_told
from robocontrast_ros.tasks.protocol import Task


def unread(description: PolicyDescription | None, instance: TestInstance) -> str:
    """Return why a policy would not take in all that a test instance tells and shows it, in words.

    Empty if it would, or if that is not known.

    Args:
        description: the policy's; None if it is not known.
        instance: has its instruction, and the filters between the sensors and the policy.

    Raises:
        ConfigurationError: the policy's tokenizer cannot be read.
    """
    if description is None:
        return ""
    name, told, most = description.name, instance.instruction, description.max_tokens
    if told.pictured and description.referents == "none":
        return f"policy '{name}' takes no pictures, and would be told the words that they are shown in place of"
    given = as_told(told.text, told.segments, description)
    parts = given.segments or ()
    if not given.text and not any(segment.visible for segment in parts) and not description.accepts_empty:
        return f"policy '{name}' takes no empty instruction"
    # A masked part that is not left out still takes tokens.
    text = given.text if given.segments is None else "".join(segment.text for segment in parts)
    if most is not None and description.tokenizer:
        count = _tokens(description.tokenizer).count(text)
        if count > most:
            return f"{count} tokens, of which policy '{name}' reads {most} (counted with {description.tokenizer})"
    if not description.shows_objects:
        for wanted, kind in _filters(instance):
            if getattr(kind, "of_objects", False):
                return f"policy '{name}' is shown no list of objects, and '{wanted}' changes nothing else"
    return ""


def unmoved(instance: TestInstance) -> str:
    """Return why a world that moves no cameras cannot show a test instance, in words; empty if it can."""
    moving = [name for name, kind in _filters(instance) if displaces_cameras(kind)]
    return f"the world moves no cameras, as '{moving[0]}' needs" if moving else ""


def _filters(instance: TestInstance) -> Iterator[tuple[str, type[ObservationFilter]]]:
    for wanted in instance.observation:
        yield wanted.name, load_plugin("observation_filters", wanted.name, "trial", "observation.name")


def check_tokenizer(description: PolicyDescription, source: str) -> None:
    """Refuse a policy whose tokens have to be counted here, and cannot be counted.

    Args:
        description: the policy's.
        source: its parameter file, or a name for it in the error.

    Raises:
        ConfigurationError: its tokenizer cannot be read on this machine.
    """
    if description.max_tokens is None or not description.tokenizer:
        return
    try:
        _tokens(description.tokenizer)
    except ConfigurationError as error:
        cure = f"{error.cure} Put it there on the session's machine, or leave it out: then no tokens are counted."
        raise ConfigurationError(source, "tokenizer", description.tokenizer, error.expected, cure) from None


class AsRead:
    """A ``Perturbation`` that does not apply if the policy would not take in the perturbed instance.

    Nor does it apply if the world cannot show it.
    """

    def __init__(
        self,
        perturbation: Perturbation,
        policy: Callable[[], PolicyDescription | None],
        cameras_move: bool = True,
    ) -> None:
        """Take a perturbation, a function for the next policy's description, and whether the world moves cameras."""
        self._perturbation, self._policy, self._cameras_move = perturbation, policy, cameras_move

    def __getattr__(self, name: str) -> Any:
        return getattr(self._perturbation, name)

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Return the perturbation's answer, or why the policy would not take it in or the world cannot show it."""
        answer = self._perturbation.apply(task, base, scene, rng)
        if isinstance(answer, NotApplicable):
            return answer
        reason = "" if self._cameras_move else unmoved(answer.instance)
        reason = reason or unread(self._policy(), answer.instance)
        return NotApplicable(reason) if reason else answer


@lru_cache(8)
def _tokens(tokenizer: str) -> Tokens:
    return Tokens(tokenizer)
