"""Domain values to messages of any classes. The way back is in ``messages.decoding``.

The live nodes make messages of rclpy's classes (``nodes/conversions/types.py``), and a recording without ROS makes
those of rosbags (``bags/messages.py``). The same code fills both, so that they hold the same.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros import domain
from robocontrast_ros.domain import NANOSECONDS, Fault, Pose, Proof


class MakeMessage(Protocol):
    """Makes a message."""

    def __call__(self, type_name: str, /, **values: Any) -> Any:
        """Return a message of a type such as ``sensor_msgs/msg/Image``; fields that are left out have their default."""


@dataclass(frozen=True)
class TrialContext:
    """The part of a Trial message besides the trial itself.

    Attributes:
        session: name of the run folder.
        robot: name of the robot profile.
        policy: name of the policy.
        task_digest: SHA-256, in hex, of the task's parameter file.
        symbols: perturbation's name -> its symbol and axes.
        judge: name of the judge of success and progress.
        scene_when_asked: whether the scene is published only when it was asked for.
    """

    session: str
    robot: str
    policy: str
    task_digest: str
    symbols: Mapping[str, tuple[str, str]]
    judge: str = "true_scene"
    scene_when_asked: bool = False


class Encoder:
    """Makes messages of domain values. Stamps are in nanoseconds, as ``domain.stamps`` says."""

    def __init__(self, make: MakeMessage) -> None:
        """Take the function that makes a message."""
        self._make = make

    def time(self, stamp: int) -> Any:
        """Return a stamp [ns] as builtin_interfaces/Time.

        Raises:
            TypeError: it is no integer.
        """
        whole, rest = divmod(operator.index(stamp), NANOSECONDS)
        return self._make("builtin_interfaces/msg/Time", sec=whole, nanosec=rest)

    def header(self, frame_id: str, stamp: int = 0) -> Any:
        """Return a header of a frame and a time [ns]."""
        return self._make("std_msgs/msg/Header", stamp=self.time(stamp), frame_id=frame_id)

    def pose(self, pose: Pose) -> Any:
        """Return the pose as geometry_msgs/Pose."""
        make = self._make
        x, y, z = pose.position
        qx, qy, qz, qw = pose.orientation
        return make(
            "geometry_msgs/msg/Pose",
            position=make("geometry_msgs/msg/Point", x=x, y=y, z=z),
            orientation=make("geometry_msgs/msg/Quaternion", x=qx, y=qy, z=qz, w=qw),
        )

    def tool_pose(self, pose: Pose, frame_id: str, stamp: int) -> Any:
        """Return the pose in a frame at a time [ns] as geometry_msgs/PoseStamped."""
        return self._make("geometry_msgs/msg/PoseStamped", header=self.header(frame_id, stamp), pose=self.pose(pose))

    def joint_tracking(self, joints: domain.JointTracking, frame_id: str, stamp: int) -> Any:
        """Return an arm's joints at a control step, with the header of its tool pose; its time is in ns."""
        closed = joints.gripper_closed
        return self._make(
            "robocontrast_ros/msg/JointTracking",
            header=self.header(frame_id, stamp),
            names=list(joints.names),
            measured=list(joints.measured),
            commanded=list(joints.commanded),
            gripper_closed=math.nan if closed is None else closed,
        )

    def scene(self, scene: domain.Scene, stamp: int = 0) -> Any:
        """Return the scene, stamped with a time [ns]."""
        make, pose = self._make, self.pose
        return make(
            "robocontrast_ros/msg/Scene",
            header=self.header(scene.frame_id, stamp),
            objects=[
                make("robocontrast_ros/msg/ObjectState", name=o.name, model=o.model, pose=pose(o.pose)) for o in scene
            ],
            has_robot=scene.robot is not None,
            robot=pose(scene.robot or Pose()),
            contacts=list(scene.contacts),
            carried=list(scene.carried),
        )

    def instance(self, instance: domain.TestInstance) -> Any:
        """Return the test instance."""
        make = self._make
        proof, words = instance.proof or Proof(""), instance.instruction
        return make(
            "robocontrast_ros/msg/TestInstance",
            instance_id=instance.instance_id,
            task=instance.task,
            instruction=make(
                "robocontrast_ros/msg/Instruction",
                text=words.text,
                family=words.family,
                arguments=[
                    make("robocontrast_ros/msg/Argument", key=key, value=value) for key, value in words.arguments
                ],
                segments=self.segments(words.segments),
                meant=words.meant,
            ),
            scene=self.scene(instance.scene),
            optimal_path_length=instance.optimal_path_length,
            reference_path=[
                make("geometry_msgs/msg/Point", **dict(zip("xyz", point, strict=False)))
                for point in instance.reference_path
            ],
            path_dimensions=len(instance.reference_path[0]) if instance.reference_path else 0,
            claim=proof.claim,
            proof=self._measures(proof.measures),
            observation=self.filters(instance.observation),
            problem=instance.problem,
            after=instance.after,
        )

    def segments(self, segments: Iterable[domain.Segment]) -> list[Any]:
        """Return the segments of an instruction, in their order."""
        return [
            self._make(
                "robocontrast_ros/msg/InstructionSegment",
                kind=int(segment.kind),
                text=segment.text,
                name=segment.name,
                visible=segment.visible,
                entity=segment.entity,
                # Without a picture the image has its default, which is empty.
                **({"image": self.image(segment.crop.pixels)} if segment.crop is not None else {}),
            )
            for segment in segments
        ]

    def image(self, pixels: NDArray[np.uint8], frame_id: str = "", stamp: int = 0) -> Any:
        """Return uint8 pixels of shape (height, width, 3), RGB, as an image of encoding rgb8."""
        # Messages of all classes take an array of bytes as a whole, and check any other sequence number by number.
        data = array("B")
        data.frombytes(np.ascontiguousarray(pixels).data)
        return self._make(
            "sensor_msgs/msg/Image",
            header=self.header(frame_id, stamp),
            height=pixels.shape[0],
            width=pixels.shape[1],
            encoding="rgb8",
            step=3 * pixels.shape[1],
            data=data,
        )

    def filters(self, filters: Iterable[domain.Filter]) -> list[Any]:
        """Return the observation filters, in their order."""
        return [self._make("robocontrast_ros/msg/ObservationFilter", **vars(shown)) for shown in filters]

    def trial(self, trial: domain.Trial, context: TrialContext, start_scene: domain.Scene, start: int) -> Any:
        """Return the trial with the scene it starts in, as read back at a time [ns]."""
        symbol, axes = context.symbols.get(trial.perturbation, ("", ""))
        return self._make(
            "robocontrast_ros/msg/Trial",
            session=context.session,
            index=trial.index,
            base_id=trial.base_id,
            perturbation=self._make(
                "robocontrast_ros/msg/Perturbation",
                name=trial.perturbation,
                symbol=symbol,
                axes=axes,
                note=trial.note,
            ),
            repeat=trial.repeat,
            instance=self.instance(trial.instance),
            task_digest=context.task_digest,
            start_scene=self.scene(start_scene, start),
            seed=trial.seed,
            start=int(trial.start),
            robot=context.robot,
            policy=context.policy,
            judge=context.judge,
            scene_when_asked=context.scene_when_asked,
            twin=trial.twin,
            block=trial.block,
            step_limit=trial.step_limit,
        )

    def fault(self, fault: Fault, detail: str = "") -> Any:
        """Return the fault with its detail in words."""
        return self._make("robocontrast_ros/msg/Fault", code=int(fault), detail=detail)

    def progress(self, progress: domain.Progress, frame_id: str) -> Any:
        """Return the progress, stamped with the time of the scene it was computed from."""
        return self._make(
            "robocontrast_ros/msg/Progress",
            header=self.header(frame_id, progress.stamp),
            success=progress.success,
            scores=self._measures(progress.scores.items()),
        )

    def intervention(self, intervention: domain.Intervention, stamp: int) -> Any:
        """Return the intervention of the safety filter in the command that answers the observation of a time [ns]."""
        return self._make(
            "robocontrast_ros/msg/SafetyIntervention", header=self.header("", stamp), **vars(intervention)
        )

    def judgement(self, judgement: domain.Judgement, stamp: int) -> Any:
        """Return a judgement from outside, stamped with the time of the last control step [ns]."""
        return self._make(
            "robocontrast_ros/msg/Judgement",
            header=self.header("", stamp),
            **_with_lists(vars(judgement)),
        )

    def result(self, result: domain.TrialResult, stamp: int) -> Any:
        """Return the scores, stamped with the time of the last scored scene [ns]."""
        return self._make(
            "robocontrast_ros/msg/TrialResult",
            header=self.header(result.final_scene.frame_id, stamp),
            outcome=int(result.outcome),
            fault=self.fault(result.fault, result.detail),
            final_scene=self.scene(result.final_scene, stamp),
            scores=self._measures(result.scores.items()),
            interventions=self.interventions(result.interventions),
            **{name: getattr(result, name) for name in _RESULT},
        )

    def move(self, move: domain.SetupMove) -> Any:
        """Return the set-up move."""
        return self._make(
            "robocontrast_ros/msg/SetupMove",
            name=move.name,
            model=move.model,
            has_start=move.start is not None,
            start=self.pose(move.start or Pose()),
            has_goal=move.goal is not None,
            goal=self.pose(move.goal or Pose()),
        )

    def interventions(self, counts: Mapping[str, int]) -> list[Any]:
        """Return the numbers of interventions of the safety filter, by kind of limit."""
        return self._measures(counts.items())

    def _measures(self, numbers: Iterable[tuple[str, float]]) -> list[Any]:
        return [self._make("robocontrast_ros/msg/Measure", name=name, value=float(value)) for name, value in numbers]


def episode_fields(record: domain.EpisodeRecord) -> dict[str, Any]:
    """Return the fields of a result of ``RunEpisode`` about the course of the episode."""
    values = _with_lists(record.episode)
    observed = values.pop("observed")
    return values | {
        "observed_instruction": observed.instruction,
        "told": observed.told,
        "segments_digest": observed.segments_digest,
        "image_digest": observed.image_digest,
        "delivered": int(record.delivered),
        "speed_scaling": math.nan if record.speed_scaling is None else record.speed_scaling,
    }


def _with_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, tuples as lists."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


_RESULT = ("optimal_path_length", "steps", "duration", "clamped_steps", "stopped", "subgoals")
"""Fields of a result that its message has under the same names."""
