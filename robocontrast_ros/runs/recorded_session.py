"""The session's parameters that are read after the session, as its journal's first event records them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, Field

from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.perturbations.loading import Entry
from robocontrast_ros.strategies.effort import AnyTolerance, HandlingTimes, Tolerance, Tolerances


def _at(*keys: str) -> Any:
    """Return the place of a value among the parameters, from the file's kind on."""
    return Field(validation_alias=AliasPath(*keys))


# `mover` is their name in release 0.1.
_TIMES = Field(validation_alias=AliasChoices(AliasPath("session", "handling_times"), AliasPath("session", "mover")))


@dataclass(frozen=True)
class RecordedSession:
    """Parameters of a session; the defaults of its file if its journal lacks them, as older ones do.

    Make it with ``parse_record`` from the parameters by file; keys that it does not name are left out.

    Attributes:
        seed: of every random draw; None if not recorded.
        task: the task's name in config/tasks/, or the path of its file.
        robot: the robot's name or the path of its file.
        policy: the policy's name or the path of its file; empty in a blind session, and if a policy server elsewhere
            has it.
        blind_policies: those of a blind session; none in any other.
        strategy: name of the strategy.
        perturbations: those of the strategy: names, or mappings of their parameters.
        families: of the task, that instances were drawn from; None for all.
        backend: the scene backend of the world.
        pacing: how time passed.
        judge: the one that decided success and progress.
        scores: those besides the task's own.
        repeats: number of runs of each instance.
        stop_on_success: whether a trial ended as soon as the goal was reached.
        compare_within: cost within which trials are counted; None if the session has none.
        handling_times: of the person of ``seconds_to_move``.
        position_tolerance: if no person set scenes up, distance within which an object stayed [m].
        orientation_tolerance: if no person set scenes up, angle within which an object stayed [rad].
        set_up_tolerances: of a person who set scenes up; None if none did.
        task_name: name in the task's file; empty without one.
        step_limit: control steps after which a trial ended; None if the task's file does not give it.
        store: place of the objects that were in no scene [m]; None if unknown.
        task_parameters: the content of the task's file.
        policy_parameters: that of the policy's file; of a blind session, of each policy's.
        test_set_parameters: that of the file of recorded instances; None if they were drawn.
    """

    seed: Annotated[int | None, _at("session", "seed")] = None
    task: Annotated[str, _at("session", "task")] = ""
    robot: Annotated[str, _at("session", "robot")] = ""
    policy: Annotated[str, _at("session", "policy")] = ""
    blind_policies: Annotated[tuple[str, ...], _at("session", "blind", "policies")] = ()
    strategy: Annotated[str, _at("session", "strategy", "name")] = ""
    perturbations: Annotated[tuple[Entry, ...], _at("session", "strategy", "perturbations")] = ()
    families: Annotated[tuple[str, ...] | None, _at("session", "test_set", "families")] = None
    backend: Annotated[str, _at("session", "world", "backend")] = "embedded"
    pacing: Annotated[str, _at("session", "world", "pacing")] = "lockstep"
    judge: Annotated[str, _at("session", "world", "judge")] = "true_scene"
    scores: Annotated[tuple[str, ...], _at("session", "scores")] = ()
    repeats: Annotated[int, _at("session", "repeats")] = 1
    stop_on_success: Annotated[bool, _at("session", "stop_on_success")] = True
    compare_within: Annotated[float | None, _at("session", "compare_within")] = None
    handling_times: Annotated[HandlingTimes, _TIMES] = field(default_factory=HandlingTimes)
    position_tolerance: Annotated[float, _at("session", "setup", "position_tolerance")] = 0.002
    orientation_tolerance: Annotated[float, _at("session", "setup", "orientation_tolerance")] = 0.05
    set_up_tolerances: Tolerances | None = None
    task_name: Annotated[str, _at("task", "name")] = ""
    step_limit: Annotated[int | None, _at("task", "step_limit")] = None
    store: Annotated[Vector3 | None, _at("task", "store")] = None
    task_parameters: Annotated[Any, _at("task")] = None
    policy_parameters: Annotated[Any, _at("policy")] = None
    test_set_parameters: Annotated[Any, _at("test_set")] = None

    @property
    def tolerance(self) -> AnyTolerance:
        """Tolerance within which an object was not moved: the person's if one set scenes up."""
        return self.set_up_tolerances or Tolerance(self.position_tolerance, self.orientation_tolerance)
