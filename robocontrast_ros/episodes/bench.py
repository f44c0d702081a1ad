"""What a session needs from the world: a bench where scenes are set up and trials executed.

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
        """Say what failed, as a code and in words."""
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
"""Who may be silent -> the key below a session's `timeouts` that says for how long, unless it is another one."""


def too_late(fault: Fault, what: str, limit: str = "") -> BenchFault:
    """Return the fault of what did not come in time, with the key of the limit, for a busy machine may be why.

    Args:
        fault: its code.
        what: what did not come, and within which time, in words.
        limit: key below `timeouts`; that of the fault when left out.
    """
    limit = limit or LIMITS.get(fault, "")
    cure = f"; where the machine is busy, raise `timeouts.{limit}` of the session" if limit else ""
    return BenchFault(fault, what + cure)


def bag_name(trial_id: str, attempt: int) -> str:
    """Return where the bag of one execution of a trial goes, relative to the run folder."""
    return f"bags/{trial_id}" + (f"_attempt{attempt}" if attempt else "")


@dataclass(frozen=True)
class Recording:
    """Where a trial was recorded.

    Attributes:
        bag: folder of the rosbag2, relative to the run folder; empty when nothing was recorded.
        messages: topic -> messages received by the recorder.
        missing: topic -> messages that were published, as far as is known, and not received. A trial that misses some
            is void.
    """

    bag: str = ""
    messages: tuple[tuple[str, int], ...] = ()
    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Execution(EpisodeRecord):
    """What came back from one trial.

    Attributes:
        result: the scores; its outcome may be a policy fault or void.
        recording: where it was recorded.
        wall_time: how long it took on the wall clock [s].
        left: the scene after the robot went to rest, which may have moved something; None where it did not go.
        judgement: what somebody outside said of it; None where nobody was asked.
    """

    result: TrialResult
    recording: Recording
    wall_time: float
    left: Scene | None = None
    judgement: Judgement | None = None


class PolicyRefusal(Exception):
    """A policy cannot be loaded, or does not fit the robot; the message says why."""


@dataclass(frozen=True)
class ServingPolicy:
    """A policy that is loaded in a bench.

    Attributes:
        name: what it calls itself.
        file: its parameter file, on the machine where it runs.
        parameters: the file's text.
        load_time: time that loading it took [s].
        warm_up_time: time that its warm-up took [s]; None without one.
        description: what it needs and answers with; None where unknown.
    """

    name: str
    file: str
    parameters: str
    load_time: float
    warm_up_time: float | None
    description: PolicyDescription | None = None

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of what the file says; comments and order of keys have no part in it."""
        return _digest(self.parameters)


@lru_cache(16)
def _digest(parameters: str) -> str:
    """Return the digest of a file's text, which is asked for before every trial."""
    content = yaml.safe_load(parameters)
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class SetByPerson:
    """How a person set a scene up.

    Attributes:
        seconds: how long it took [s].
        read: what was seen of it for certain when they said that it was done; None where nothing saw it.
        overruled: what was in doubt then, one line each, where they said that it stands right all the same.
    """

    seconds: float
    read: Scene | None = None
    overruled: tuple[str, ...] = ()


class SetUpOutcome(NamedTuple):
    """A scene that was set up.

    Attributes:
        stamp: the time of the scene [ns].
        scene: as it was read back.
        by_person: how a person set it up; None where it was not a person, or nobody measured it.
    """

    stamp: int
    scene: Scene
    by_person: SetByPerson | None = None


class Bench:
    """A robot with a scene that can be set up, in simulation or real.

    A bench has at least ``scene``, ``set_up`` and ``execute``. The other methods are those of a bench that has no such
    thing, so that one in simulation leaves them out.
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

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Run one trial in the present scene, record and score it.

        Args:
            trial: what to run.
            attempt: how often its execution was begun before, in this process or an earlier one;
                (trial, attempt) is unique in a run, so a recording can be named after it.

        Raises:
            BenchFault: the bench failed; the trial says nothing about the policy.
        """
        raise NotImplementedError

    def description(self) -> str:
        """Return what simulates and renders the scenes, with versions; empty where unknown.

        Raises:
            BenchFault: it does not answer.
        """
        return ""

    def set_by_person(self) -> SetByPerson | None:
        """Return how a person, who is timed, set the last scene up; None where it was not a person."""
        return None

    def stopped(self) -> str:
        """Return why somebody stopped the robot, and how a person releases it; empty where it is not stopped."""
        return ""

    def await_release(self) -> str:
        """Wait until it is released, and return who released it; empty where nobody knows.

        Raises:
            BenchFault: the session was aborted meanwhile, or nobody watches the robot any more.
        """
        return ""

    def speed_scaling(self) -> str:
        """Return what outside of the session slows the robot, such as a speed slider, and what a person does about it.

        Or that nobody knows; empty for full speed.

        Raises:
            BenchFault: nobody answers.
        """
        return ""

    def not_home(self) -> str:
        """Return why the robot could not go home after a trial, and what a person does about it; empty else.

        Home, it is out of the way of whoever sets the next scene up.
        """
        return ""

    def go_home(self) -> None:
        """Have it try once more; ``not_home`` then says whether it arrived."""


class PolicyBench(Bench):
    """A bench that names its policy, and where another can take its place between two trials.

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
        """Let the policy that was staged last serve, and free the one that did.

        Raises:
            PolicyRefusal: there is none; the one that serves goes on.
            BenchFault: which of them serves is unknown.
        """
        raise NotImplementedError

    def show_policy_as(self, code: str) -> None:
        """Have messages and recordings of the trials to come name the policy by this code; empty for its own name."""
