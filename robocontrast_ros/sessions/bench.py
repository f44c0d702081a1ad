"""What a session needs from the world: a bench where scenes are set up and trials executed.

The ROS graph is one bench (nodes/), the in-process simulator another; the session cannot tell them
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from robocontrast_ros.domain import Fault, Observed, Scene, SetupMove, Trial, TrialResult


class BenchFault(Exception):
    """The bench, not the policy, failed: the trial is void."""

    def __init__(self, fault: Fault, detail: str) -> None:
        """Say what failed, as a code and in words."""
        super().__init__(f"{fault.name}: {detail}")
        self.fault, self.detail = fault, detail


@dataclass(frozen=True)
class Recording:
    """Where a trial was recorded.

    Attributes:
        bag: folder of the rosbag2, relative to the run folder; empty when nothing was recorded.
        messages: topic -> messages received by the recorder.
        missing: topic -> messages that were published, as far as is known, and not received.
    """

    bag: str = ""
    messages: tuple[tuple[str, int], ...] = ()
    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Execution:
    """What came back from one trial.

    Attributes:
        result: the scores; its outcome may be a policy fault or void.
        observed: what the policy received.
        recording: where it was recorded.
        wall_time: how long it took on the wall clock [s].
        policy_latency: time that the policy itself took for each answer [s].
    """

    result: TrialResult
    observed: Observed
    recording: Recording
    wall_time: float
    policy_latency: tuple[float, ...] = ()


class Bench(Protocol):
    """A robot with a scene that can be set up, in simulation or real."""

    def scene(self) -> Scene:
        """Return the scene that actually is.

        Raises:
            BenchFault: it cannot be known.
        """

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Bring the scene to the target by these moves, reset the robot, and return the scene as read back.

        Raises:
            BenchFault: the scene could not be set up.
        """

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Run one trial in the scene as it is, record and score it.

        Args:
            trial: what to run.
            attempt: how often its execution was begun before, in this process or an earlier one;
                (trial, attempt) is unique in a run, so a recording can be named after it.

        Raises:
            BenchFault: the bench failed; nothing can be said about the policy.
        """


@runtime_checkable
class TimedBench(Bench, Protocol):
    """A bench where a person sets up the scenes and the time of that is measured, as on a real robot."""

    def set_up_seconds(self) -> float:
        """Return how long the person took for the last set-up [s]."""
