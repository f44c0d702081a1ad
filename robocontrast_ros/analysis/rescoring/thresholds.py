"""Score recorded trials under other thresholds, with bounds where the recording ends too early.

Under other thresholds the trial might have ended later than its recording: such a trial is ``censored``, and has
bounds instead of scores. docs/rescoring.md says which questions this answers.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import yaml

from robocontrast_ros.bags.reader import TrialRecording
from robocontrast_ros.configuration import (
    ConfigurationError,
    load_configured,
    parse_settings,
    read_yaml,
    with_settings,
)
from robocontrast_ros.domain import Fault, TestInstance, TrialResult
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample, success_weighted_path_length
from robocontrast_ros.tasks.protocol import Infeasible, StagedGoal, Task

WORLD = ("scenes.world", "scenes.models", "scenes.start_position", "scenes.physics_step", "control_rate")
"""Attributes of a task that define the world; a recording says nothing about another world."""

EXAMPLE = "block_to_block.within=0.04"
"""An example of a setting, for errors."""

Status = Literal["known", "censored", "not_run", "void"]


@dataclass(frozen=True)
class ParameterChange:
    """A parameter of the task that differs from what the trial ran with; None where it was not there."""

    key: str
    before: object
    after: object

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.key}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Thresholds:
    """The thresholds to score with instead of those of a trial's own parameter file.

    Attributes:
        file: another parameter file of the same task; None for the trial's own.
        settings: each ``key=value``: a dotted key of the file and its new value in YAML.
    """

    file: Path | None = None
    settings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, file: Path | None, settings: tuple[str, ...]) -> Thresholds | None:
        """Return the thresholds of the options `--task` and `--set`; None without them.

        Raises:
            ConfigurationError: a setting is not of the form ``key=value``, or there is no such file.
        """
        if file is None and not settings:
            return None
        if file is not None:
            read_yaml(file)
        parse_settings(settings, EXAMPLE)
        return cls(file, settings)


@dataclass(frozen=True)
class OtherTask:
    """A task under other thresholds.

    Attributes:
        task: the task.
        changes: what differs from the trial's own parameters.
        parameters: all of them, as text in YAML.
    """

    task: Task
    changes: tuple[ParameterChange, ...]
    parameters: str


@lru_cache(maxsize=32)
def load_other(thresholds: Thresholds, own_file: Path) -> OtherTask:
    """Return a trial's task under other thresholds.

    Args:
        thresholds: what to score with.
        own_file: the parameter file that the trial was scored with.

    Raises:
        ConfigurationError: they do not fit the task, are another task's, or make another world.
    """
    base = thresholds.file or own_file
    own, content = read_yaml(own_file), read_yaml(base)
    source = str(base)
    if thresholds.settings and isinstance(content, dict):
        source = f"{base} with --set"
        content = with_settings(content, parse_settings(thresholds.settings, EXAMPLE))
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    own_task, task = load_configured("tasks", own_file), _load(text, source)
    if type(task) is not type(own_task):
        raise ConfigurationError(source, "task", content.get("task"), f"the task of the trial, '{own.get('task')}'")
    for attribute in WORLD:
        before, after = (attrgetter(attribute)(t) for t in (own_task, task))
        if before != after:
            raise ConfigurationError(
                source,
                attribute.removeprefix("scenes."),
                after,
                f"the value in the trial, {before!r}",
                "A recording can be scored under other thresholds, not in another world.",
            )
    was, now = dict(_leaves(own)), dict(_leaves(content))
    changes = tuple(
        ParameterChange(key, was.get(key), now.get(key))
        for key in dict.fromkeys((*was, *now))
        if was.get(key) != now.get(key)
    )
    return OtherTask(task, changes, text)


def _load(text: str, source: str) -> Task:
    """Load the task; an error names the source, not the temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            task: Task = load_configured("tasks", path)
        except ConfigurationError as error:
            raise ConfigurationError(source, error.key, error.got, error.expected, error.cure) from None
    return task


def _leaves(content: Any, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Return dotted keys and values; a list is one value, as text."""
    if isinstance(content, dict):
        for key, inner in content.items():
            yield from _leaves(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, json.dumps(content) if isinstance(content, list) else content


@dataclass(frozen=True)
class Scores:
    """The three scores that depend on thresholds; NaN where one is not known."""

    success: float = math.nan
    spl: float = math.nan
    progress: float = math.nan

    @classmethod
    def of(cls, result: TrialResult) -> Scores:
        """Return those of a result."""
        return cls(*(result.scores.get(name, math.nan) for name in ("success", "spl", "progress")))


UNKNOWN = Scores()


@dataclass(frozen=True)
class Rescored:
    """A trial under other thresholds.

    Attributes:
        status: ``known``; ``censored``, when the recording ends before the trial would have; ``not_run``, when it would
            be no test instance; ``void``, when the trial does not count.
        reason: why it is not known; empty when it is.
        before: its scores under its own thresholds.
        low: its scores, at least; NaN where it was not run or is void.
        high: its scores, at most; those of ``low`` where it is known.
        steps: control steps that count; fewer than recorded where the trial would have ended earlier.
        optimal_path_length: the planner's path under the other thresholds [m].
        changes: what differs from the trial's own parameters.
    """

    status: Status
    reason: str
    before: Scores
    low: Scores
    high: Scores
    steps: int
    optimal_path_length: float
    changes: tuple[ParameterChange, ...]


def rescore(
    recording: TrialRecording,
    samples: tuple[Sample, ...],
    own: Task,
    other: OtherTask,
    before: TrialResult,
    stop_on_success: bool,
) -> Rescored:
    """Return a trial's scores under other thresholds, as if it had been run under them.

    Args:
        recording: the trial.
        samples: its control steps.
        own: its task, with the parameters that it was scored with.
        other: the task with others.
        before: its scores under its own; of outcome UNKNOWN when the bag ends before the trial does.
        stop_on_success: whether a trial of its session ends at success.

    Raises:
        KeyError: a scene lacks an object that the goal needs.
        ValueError: a number is out of its range.
    """
    task, recorded = other.task, recording.result
    unknown = Rescored("void", "", Scores.of(before), UNKNOWN, UNKNOWN, before.steps, math.nan, other.changes)
    if recorded is not None and recorded.fault.voids:
        return replace(unknown, reason="the trial is void")
    if recording.judge != "true_scene":
        return replace(unknown, status="not_run", reason=f"the judge is '{recording.judge}', and not the true scene")
    instance, reason = _instance(recording.trial.instance, own, task)
    if instance is None:
        return replace(unknown, status="not_run", reason=f"no test instance any more: {reason}")

    steps, stopped, fault = before.steps, before.stopped, before.fault
    every_step = len(samples) == steps + 1
    # A trial's own limit, what earlier skills of its chain left of pooled steps, is none of the task's thresholds.
    limit, own_limit = (recording.trial.step_limit or one.step_limit for one in (task, own))
    # A lower limit ends the trial at its last control step, without another action of the policy.
    cut = limit < own_limit and steps >= limit
    if cut:
        samples, steps, stopped, fault = samples[: limit + 1], limit, False, Fault.NONE
    scorer = EpisodeScorer.for_instance(task, instance, recording.start_scene)
    ended = False
    for step, sample in enumerate(samples):
        progress = scorer.update(sample)
        ended = progress.success and stop_on_success
        if ended:
            steps, stopped, fault = min(step, steps), False, Fault.NONE
            break
    scorer.end(recording.end_scene)
    result = scorer.result(fault, "", steps, 0, stopped)
    reason = ""
    if not ended:
        if cut and not every_step:
            reason = "its control steps cannot be told apart, and the step limit is lower"
        elif not cut:
            reason = _censored(own_limit, limit, recorded, before, stop_on_success)
    scores = Scores.of(result)
    rescored = replace(
        unknown,
        status="censored" if reason else "known",
        reason=reason,
        low=scores,
        high=scores,
        steps=steps,
        optimal_path_length=instance.optimal_path_length,
    )
    if not reason:
        return rescored
    latched = isinstance(task.goals.goal(instance.instruction, recording.start_scene), StagedGoal)
    length = instance.optimal_path_length
    return replace(
        rescored,
        low=Scores(
            0.0,
            success_weighted_path_length(False, scorer.path_length, length),
            scores.progress if latched else 0.0,
        ),
        high=Scores(1.0, success_weighted_path_length(True, scorer.path_length, length), 1.0),
    )


def _censored(own: int, other: int, recorded: TrialResult | None, before: TrialResult, stop_on_success: bool) -> str:
    """Return why the trial would have ended later than its recording, given both step limits; empty if it would not."""
    if recorded is None:
        return "its bag ends before it does"
    if recorded.fault.of_policy or recorded.stopped:
        return ""
    if recorded.steps >= other:
        return ""
    if before.success == 1.0 and stop_on_success:
        return "it ended at success under its own thresholds"
    if recorded.steps >= own:
        return f"it ended at its own step limit of {own}"
    return ""


def _instance(recorded: TestInstance, own: Task, other: Task) -> tuple[TestInstance | None, str]:
    """Return the test instance with the planner's path under other thresholds, or None and why there is none."""
    made = other.make_instance(recorded.instance_id, recorded.instruction, recorded.scene)
    if isinstance(made, Infeasible):
        return None, made.reason
    # A recorded path of another planner is replaced only where the thresholds change the planned path.
    if _path(made) != _path(recorded):
        before = own.make_instance(recorded.instance_id, recorded.instruction, recorded.scene)
        if isinstance(before, Infeasible) or _path(made) != _path(before):
            return replace(
                recorded, optimal_path_length=made.optimal_path_length, reference_path=made.reference_path
            ), ""
    return recorded, ""


def _path(instance: TestInstance) -> tuple[float, tuple[tuple[float, float], ...]]:
    return instance.optimal_path_length, instance.reference_path
