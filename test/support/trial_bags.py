"""Bags of trials, recorded as the graph records them but without ROS."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from robocontrast_ros.bags import messages as bag_messages
from robocontrast_ros.bags.writer import BagTopic, BagWriter
from robocontrast_ros.domain import NANOSECONDS, Fault, JointTracking, Pose, Progress, Scene, Trial, TrialResult
from robocontrast_ros.episodes.scoring import EpisodeScorer, StampJoin
from robocontrast_ros.messages.encoding import Encoder, TrialContext
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.driver_messages import DriverEncoder

NO_SCENE = Scene()


def kill(bag: Path) -> None:
    """Leave a closed bag as a recorder does that is killed: without metadata, and without the index of its file."""
    (bag / "metadata.yaml").unlink()
    (file,) = bag.glob("*.mcap")
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size - 30)


class Messages(bag_messages.Messages):
    """Serialised messages of what a trial is scored from, with stamps in nanoseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._domain, self._driver = Encoder(self.make), DriverEncoder(self.make)

    def scene(self, scene: Scene, stamp: int = 0) -> object:
        return self._domain.scene(scene, stamp)

    def tool_pose(self, pose: Pose, stamp: int) -> object:
        return self._domain.tool_pose(pose, "world", stamp)

    def joint_tracking(self, joints: JointTracking, stamp: int) -> object:
        return self._domain.joint_tracking(joints, "world", stamp)

    def trial(self, trial: Trial, start: Scene = NO_SCENE, start_stamp: int = 0, task_digest: str = "") -> object:
        context = TrialContext("session", "franka", "oracle", task_digest, {})
        return self._domain.trial(trial, context, start, start_stamp)

    def progress(self, progress: Progress) -> object:
        return self._domain.progress(progress, "world")

    def result(self, result: TrialResult, stamp: int) -> object:
        return self._domain.result(result, stamp)

    def image(self, pixels: np.ndarray, stamp: int) -> object:
        return self._driver.image(pixels, "camera", stamp)


@cache
def known_messages() -> Messages:
    """Return the messages that all tests of a process share: to learn a type takes longer than to write a bag."""
    return Messages()


TRIAL_TOPICS = (
    BagTopic("/eval/trial", "robocontrast_ros/msg/Trial", latched=True, depth=1),
    BagTopic("/eval/scene", "robocontrast_ros/msg/Scene"),
    BagTopic("/eval/tool_pose", "geometry_msgs/msg/PoseStamped"),
    BagTopic("/eval/progress", "robocontrast_ros/msg/Progress"),
    BagTopic("/eval/trial_result", "robocontrast_ros/msg/TrialResult"),
    BagTopic("/eval/camera/image_raw", "sensor_msgs/msg/Image"),
)


@dataclass(frozen=True)
class Played:
    """What a live graph would have said of a trial.

    Attributes:
        start: the scene as it was read back.
        progress: of each control step.
        result: in the end.
    """

    start: Scene
    progress: tuple[Progress, ...]
    result: TrialResult


def play(task: Task, trial: Trial, rng: np.random.Generator, steps: int = 12) -> list[tuple[Scene, Pose]]:
    """Draw a robot that wanders and pushes the first object of its instruction towards the planned end.

    Returns:
        (scene, tool pose) of each control step.
    """
    plan = task.planner.plan(trial.instance.instruction, trial.instance.scene)
    source = trial.instance.instruction.get("source")
    here, there = (np.array(s[source].pose.position) for s in (trial.instance.scene, plan.final_scene))
    moves = []
    for share in np.linspace(0.0, 1.0, steps):
        scene = trial.instance.scene.moved(source, Pose(tuple((here + share * (there - here)).tolist())))
        moves.append((scene, Pose(tuple(rng.normal(here, 0.1).tolist()))))
    return moves


def record_trial(
    bag: Path,
    task: Task,
    trial: Trial,
    rng: np.random.Generator,
    *,
    fault: Fault = Fault.NONE,
    epoch: int = 0,
    task_digest: str = "",
    with_result: bool = True,
    moves: list[tuple[Scene, Pose]] | None = None,
) -> Played:
    """Play, score live and record a trial, with all that a real graph puts beside it.

    The bag also holds messages from before the trial and after its end, a scene whose tool pose was lost,
    and both topics in whatever order they arrived in.

    Args:
        bag: folder of the new bag.
        task: its task.
        trial: what is run.
        rng: of the robot's wandering and the order of arrival.
        fault: what goes wrong at the end.
        epoch: time of the start scene [ns].
        task_digest: of the task's parameter file.
        with_result: whether the scorer lives to publish its result.
        moves: scene and tool pose of each control step; drawn by ``play`` when None.
    """
    messages = known_messages()
    start = trial.instance.scene
    scorer = EpisodeScorer.for_instance(task, trial.instance, start)
    join = StampJoin(epoch)
    moves = moves or play(task, trial, rng)
    period = round(NANOSECONDS / task.control_rate)
    stamps = [epoch + (i + 1) * period for i in range(len(moves))]
    progress = []
    clock = 10**18
    with closing(BagWriter(bag, TRIAL_TOPICS)) as writer:

        def write(topic: str, message: object) -> None:
            nonlocal clock
            clock += 1
            writer.write(f"/eval/{topic}", clock, messages.cdr(message))

        write("trial", messages.trial(trial, start, epoch, task_digest))
        write("scene", messages.scene(moves[-1][0], epoch - period if epoch else 0))
        write("tool_pose", messages.tool_pose(moves[-1][1], epoch - period if epoch else 0))
        for stamp, (scene, tool) in zip(stamps, moves, strict=True):
            if stamp == stamps[len(stamps) // 2]:
                write("scene", messages.scene(scene, stamp - period // 2))
            arrivals = [("scene", scene), ("tool_pose", tool)]
            if rng.random() < 0.5:
                arrivals.reverse()
            for topic, value in arrivals:
                write(topic, getattr(messages, topic)(value, stamp))
                add = join.add_scene if topic == "scene" else join.add_tool_pose
                sample = add(stamp, value)
                if sample is not None:
                    progress.append(scorer.update(sample))
                    write("progress", messages.progress(progress[-1]))
        result = scorer.result(fault, "it broke" if fault else "", len(moves) - 1, 2)
        if with_result:
            write("trial_result", messages.result(result, stamps[-1]))
        write("scene", messages.scene(start, stamps[-1] + period))
        write("tool_pose", messages.tool_pose(moves[0][1], stamps[-1] + period))
    return Played(start, tuple(progress), result)
