"""Bags of trials, recorded as the graph records them but without ROS."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.writer import BagTopic, BagWriter
from robocontrast_ros.domain import Fault, Pose, Progress, Proof, Scene, Trial, TrialResult
from robocontrast_ros.episodes.scoring import EpisodeScorer, StampJoin
from robocontrast_ros.messages.decoding import NANOSECONDS
from robocontrast_ros.tasks.protocol import Task

NO_SCENE = Scene()


class Messages:
    """Makes serialised messages of any installed type from plain values."""

    def __init__(self) -> None:
        self._store = Typestore()
        self._known: set[str] = set()

    def make(self, type_name: str, **values: object) -> object:
        if type_name not in self._known:
            self._store.register(get_types_from_msg(find_definition(type_name).text, type_name))
            self._known.add(type_name)
        return self._store.types[type_name](**values)

    def cdr(self, message: object) -> bytes:
        return bytes(self._store.serialize_cdr(message, message.__msgtype__))

    def header(self, stamp: int, frame_id: str = "world") -> object:
        time = self.make("builtin_interfaces/msg/Time", sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame_id)

    def pose(self, pose: Pose) -> object:
        p = self.make("geometry_msgs/msg/Point", **dict(zip("xyz", pose.position, strict=True)))
        q = self.make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", pose.orientation, strict=True)))
        return self.make("geometry_msgs/msg/Pose", position=p, orientation=q)

    def scene(self, scene: Scene, stamp: int = 0) -> object:
        objects = [
            self.make("robocontrast_ros/msg/ObjectState", name=o.name, model=o.model, pose=self.pose(o.pose))
            for o in scene
        ]
        return self.make(
            "robocontrast_ros/msg/Scene",
            header=self.header(stamp, scene.frame_id),
            objects=objects,
            has_robot=scene.robot is not None,
            robot=self.pose(scene.robot or Pose()),
            contacts=list(scene.contacts),
        )

    def tool_pose(self, pose: Pose, stamp: int) -> object:
        return self.make("geometry_msgs/msg/PoseStamped", header=self.header(stamp), pose=self.pose(pose))

    def trial(self, trial: Trial, start: Scene = NO_SCENE, start_stamp: int = 0, task_digest: str = "") -> object:
        words = trial.instance.instruction
        arguments = [self.make("robocontrast_ros/msg/Argument", key=k, value=v) for k, v in words.arguments]
        proof = trial.instance.proof or Proof("")
        instance = self.make(
            "robocontrast_ros/msg/TestInstance",
            instance_id=trial.instance.instance_id,
            task=trial.instance.task,
            instruction=self.make(
                "robocontrast_ros/msg/Instruction", text=words.text, family=words.family, arguments=arguments
            ),
            scene=self.scene(trial.instance.scene),
            optimal_path_length=trial.instance.optimal_path_length,
            reference_path=[
                self.make("geometry_msgs/msg/Point", x=x, y=y, z=0.0) for x, y in trial.instance.reference_path
            ],
            claim=proof.claim,
            proof=[self.make("robocontrast_ros/msg/Measure", name=n, value=v) for n, v in proof.measures],
        )
        perturbation = self.make(
            "robocontrast_ros/msg/Perturbation", name=trial.perturbation, symbol="", axes="", note=trial.note
        )
        return self.make(
            "robocontrast_ros/msg/Trial",
            session="session",
            index=trial.index,
            base_id=trial.base_id,
            perturbation=perturbation,
            repeat=trial.repeat,
            instance=instance,
            task_digest=task_digest,
            start_scene=self.scene(start, start_stamp),
            seed=trial.seed,
            start=int(trial.start),
            robot="franka",
            policy="oracle",
            twin=trial.twin,
            block=trial.block,
        )

    def progress(self, progress: Progress, stamp: int) -> object:
        return self.make(
            "robocontrast_ros/msg/Progress",
            header=self.header(stamp),
            success=progress.success,
            progress=progress.progress,
            distance_to_goal=progress.distance_to_goal,
            path_length=progress.path_length,
            subgoals_reached=progress.subgoals_reached,
            collisions=progress.collisions,
        )

    def result(self, result: TrialResult, stamp: int) -> object:
        values = {
            name: getattr(result, name)
            for name in (
                "success",
                "spl",
                "progress",
                "distance_to_goal",
                "path_length",
                "optimal_path_length",
                "steps",
                "duration",
                "clamped_steps",
                "stopped",
                "subgoals",
                "subgoals_reached",
                "ndtw",
                "collisions",
            )
        }
        return self.make(
            "robocontrast_ros/msg/TrialResult",
            header=self.header(stamp),
            outcome=int(result.outcome),
            fault=self.make("robocontrast_ros/msg/Fault", code=int(result.fault or Fault.NONE), detail=result.detail),
            final_scene=self.scene(result.final_scene, stamp),
            **values,
        )

    def image(self, pixels: np.ndarray, stamp: int) -> object:
        height, width, _ = pixels.shape
        return self.make(
            "sensor_msgs/msg/Image",
            header=self.header(stamp, "camera"),
            height=height,
            width=width,
            encoding="rgb8",
            is_bigendian=0,
            step=3 * width,
            data=pixels.reshape(-1),
        )


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
    plan = task.plan(trial.instance.instruction, trial.instance.scene)
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
    messages = Messages()
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
                    progress.append(scorer.update(stamp, sample.scene, sample.robot_pose.position))
                    write("progress", messages.progress(progress[-1], stamp))
        result = scorer.result(fault, "it broke" if fault else "", len(moves) - 1, 2)
        if with_result:
            write("trial_result", messages.result(result, stamps[-1]))
        write("scene", messages.scene(start, stamps[-1] + period))
        write("tool_pose", messages.tool_pose(moves[0][1], stamps[-1] + period))
    return Played(start, tuple(progress), result)
