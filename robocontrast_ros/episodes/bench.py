"""The world as a session needs it: a bench where scenes are set up and trials executed.

The ROS graph is one bench (nodes/), the in-process simulator another; to the session they are the same.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import yaml

from robocontrast_ros.domain import (
    EpisodeRecord,
    Fault,
    Judgement,
    Scene,
    SetupMove,
    Trial,
    TrialResult,
)
from robocontrast_ros.policies.protocol import PolicyDescription


class BenchFault(Exception):
    """The bench failed, not the policy: the trial is void."""

    def __init__(self, fault: Fault, detail: str) -> None:
        """Take the failure, as a code and in words."""
        super().__init__(f"{fault.name}: {detail}")
        self.fault, self.detail = fault, detail


LIMITS = {
    Fault.POLICY_SERVER_LOST: "policy",
    Fault.SIMULATOR_LOST: "sensors",
    Fault.SENSOR_LOST: "sensors",
    Fault.SCORER_LOST: "scoring",
    Fault.RECORDER_LOST: "recording",
    Fault.JUDGE_LOST: "judge",
}
"""Fault of a silent part -> key of its limit below a session's `timeouts`, unless another key is given."""


def too_late(fault: Fault, what: str, limit: str = "") -> BenchFault:
    """Return the fault of a late answer, with the key of its limit, because a busy machine may be the cause.

    Args:
        fault: its code.
        what: the missing answer and the time limit, in words.
        limit: key below `timeouts`; that of the fault if left out.
    """
    limit = limit or LIMITS.get(fault, "")
    cure = f"; where the machine is busy, raise `timeouts.{limit}` of the session" if limit else ""
    return BenchFault(fault, what + cure)


def bag_name(trial_id: str, attempt: int) -> str:
    """Return the path for the bag of one execution of a trial, relative to the run folder."""
    return f"bags/{trial_id}" + (f"_attempt{attempt}" if attempt else "")


@dataclass(frozen=True)
class Recording:
    """Place and completeness of a trial's recording.

    Attributes:
        bag: folder of the rosbag2, relative to the run folder; empty if nothing was recorded.
        messages: topic -> messages received by the recorder.
        missing: topic -> messages that were published, as far as is known, and not received. A trial that misses some
            is void.
    """

    bag: str = ""
    messages: tuple[tuple[str, int], ...] = ()
    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Execution(EpisodeRecord):
    """Outcome of one trial's execution.

    Attributes:
        result: the scores; its outcome may be a policy fault or void.
        recording: place of its recording.
        wall_time: its duration on the wall clock [s].
        left: the scene after the robot went to rest, which may have moved something; None if it did not go.
        judgement: the judgement by somebody outside; None if nobody was asked.
    """

    result: TrialResult
    recording: Recording
    wall_time: float
    left: Scene | None = None
    judgement: Judgement | None = None


class PolicyRefusal(Exception):
    """A policy cannot be loaded, or does not fit the robot; the message has the reason."""


@dataclass(frozen=True)
class ServingPolicy:
    """A policy that is loaded in a bench.

    Attributes:
        name: its own name.
        file: its parameter file, on the machine where it runs.
        parameters: the file's text.
        load_time: time of loading it [s].
        warm_up_time: time of its warm-up [s]; None without one.
        description: its inputs and outputs; None if unknown.
    """

    name: str
    file: str
    parameters: str
    load_time: float
    warm_up_time: float | None
    description: PolicyDescription | None = None

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of the file's content, independent of comments and of the order of keys."""
        return _digest(self.parameters)


@lru_cache(16)
def _digest(parameters: str) -> str:
    """Return the digest of a file's text; cached, because it is needed before every trial."""
    content = yaml.safe_load(parameters)
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class SetByPerson:
    """How a person set a scene up.

    Attributes:
        seconds: the time it took [s].
        read: the parts that were seen for certain when they said that it was done; None if nothing saw it.
        overruled: the doubts at that time, one line each, if they still said that it is right.
    """

    seconds: float
    read: Scene | None = None
    overruled: tuple[str, ...] = ()


class SetUpOutcome(NamedTuple):
    """A scene that was set up.

    Attributes:
        stamp: the time of the scene [ns].
        scene: as it was read back.
        by_person: how a person set it up; None if it was not a person, or if nobody measured it.
    """

    stamp: int
    scene: Scene
    by_person: SetByPerson | None = None


class Bench:
    """A robot with a scene that can be set up, in simulation or real.

    A bench has at least ``scene``, ``set_up`` and ``execute``. The other methods have defaults for a bench without such
    parts, so that one in simulation leaves them out.
    """

    def scene(self) -> Scene:
        """Return the actual scene.

        Raises:
            BenchFault: it cannot be read.
        """
        raise NotImplementedError

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Bring the scene to the target by these moves, reset the robot, and return the scene as read back.

        Raises:
            BenchFault: the scene could not be set up.
        """
        raise NotImplementedError

    def reset_robot(self) -> Scene:
        """Bring the robot alone to its start, and return the scene as read back: nothing in it is moved.

        A robot that nobody resets goes there when the trial begins, by a checked way.

        Raises:
            BenchFault: the scene cannot be read, or the robot cannot be reset.
        """
        return self.set_up(self.scene(), ())

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Run one trial in the present scene, record and score it.

        Args:
            trial: the trial.
            attempt: number of its executions begun before, in this process or an earlier one;
                (trial, attempt) is unique in a run, so a recording can be named after it.

        Raises:
            BenchFault: the bench failed; the trial is no evidence about the policy.
        """
        raise NotImplementedError

    def description(self) -> str:
        """Return the simulator and the renderer of the scenes, with versions; empty if unknown.

        Raises:
            BenchFault: it does not answer.
        """
        return ""

    def set_by_person(self) -> SetByPerson | None:
        """Return how a person, who is timed, set the last scene up; None if it was not a person."""
        return None

    def stopped(self) -> str:
        """Return why somebody stopped the robot, and how a person releases it; empty if it is not stopped."""
        return ""

    def await_release(self) -> str:
        """Wait until it is released, and return who released it; empty if nobody knows.

        Raises:
            BenchFault: the session was aborted meanwhile, or nobody watches the robot any more.
        """
        return ""

    def speed_scaling(self) -> str:
        """Return the outside cause that slows the robot, such as a speed slider, and its remedy by a person.

        Or a sentence that nobody knows; empty for full speed.

        Raises:
            BenchFault: nobody answers.
        """
        return ""

    def not_home(self) -> str:
        """Return why the robot could not go home after a trial, and the remedy by a person; empty else.

        At home, it is out of the way of the person who sets the next scene up.
        """
        return ""

    def go_home(self) -> None:
        """Have it try once more; ``not_home`` then returns whether it arrived."""


class PolicyBench(Bench):
    """A bench that names its policy, and whose policy can be replaced between two trials.

    The code of each ``BenchFault`` is POLICY_SERVER_LOST.
    """

    def policy(self) -> ServingPolicy:
        """Return the policy that serves.

        Raises:
            BenchFault: it is unknown.
        """
        raise NotImplementedError

    def stage_policy(self, policy: str) -> ServingPolicy:
        """Load and warm up another policy beside the one that serves, and check that it fits the robot.

        Args:
            policy: name in config/policies/, or path of a file, on the machine where policies run.

        Raises:
            PolicyRefusal: it cannot be loaded, or does not fit; the one that serves goes on.
        """
        raise NotImplementedError

    def serve_policy(self) -> None:
        """Let the policy that was staged last serve, and free the one that served.

        Raises:
            PolicyRefusal: none was staged; the one that serves goes on.
            BenchFault: which of them serves is unknown.
        """
        raise NotImplementedError

    def show_policy_as(self, code: str) -> None:
        """Have messages and recordings of the trials to come name the policy by this code; empty for its own name."""
