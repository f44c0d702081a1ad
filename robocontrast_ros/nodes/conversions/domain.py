"""Domain values to our messages. The way back is in ``robocontrast_ros.messages.decoding``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from geometry_msgs.msg import Point, Quaternion
from geometry_msgs.msg import Pose as PoseMsg
from std_msgs.msg import Header

from robocontrast_ros import domain
from robocontrast_ros.domain import Fault, Pose, Proof
from robocontrast_ros.msg import (
    Argument,
    Instruction,
    Measure,
    ObjectState,
    Perturbation,
    Scene,
    SetupMove,
    TestInstance,
    Trial,
    TrialResult,
)
from robocontrast_ros.msg import Fault as FaultMsg
from robocontrast_ros.msg import Progress as ProgressMsg
from robocontrast_ros.nodes.conversions.time import time_to_msg


def pose_to_msg(pose: Pose) -> PoseMsg:
    """Return the pose as geometry_msgs/Pose."""
    x, y, z = pose.position
    qx, qy, qz, qw = pose.orientation
    return PoseMsg(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def header(frame_id: str, stamp: float = 0.0) -> Header:
    """Return a header of a frame and a time [s]."""
    return Header(frame_id=frame_id, stamp=time_to_msg(stamp))


def scene_to_msg(scene: domain.Scene, stamp: float = 0.0) -> Scene:
    """Return the scene, stamped with a time [s]."""
    return Scene(
        header=header(scene.frame_id, stamp),
        objects=[ObjectState(name=o.name, model=o.model, pose=pose_to_msg(o.pose)) for o in scene],
        has_robot=scene.robot is not None,
        robot=pose_to_msg(scene.robot or Pose()),
        contacts=list(scene.contacts),
    )


def instance_to_msg(instance: domain.TestInstance) -> TestInstance:
    """Return the test instance."""
    proof = instance.proof or Proof("")
    return TestInstance(
        instance_id=instance.instance_id,
        task=instance.task,
        instruction=Instruction(
            text=instance.instruction.text,
            family=instance.instruction.family,
            arguments=[Argument(key=key, value=value) for key, value in instance.instruction.arguments],
        ),
        scene=scene_to_msg(instance.scene),
        optimal_path_length=instance.optimal_path_length,
        reference_path=[Point(x=x, y=y) for x, y in instance.reference_path],
        claim=proof.claim,
        proof=[Measure(name=name, value=value) for name, value in proof.measures],
    )


@dataclass(frozen=True)
class TrialContext:
    """What a Trial message has besides the trial itself.

    Attributes:
        session: name of the run folder.
        robot: name of the robot profile.
        policy: name of the policy.
        task_digest: SHA-256, in hex, of the task's parameter file.
        symbols: perturbation's name -> its symbol and axes.
    """

    session: str
    robot: str
    policy: str
    task_digest: str
    symbols: Mapping[str, tuple[str, str]]


def trial_to_msg(trial: domain.Trial, context: TrialContext, start_scene: domain.Scene, start: float) -> Trial:
    """Return the trial with the scene it starts in, as read back at a time [s]."""
    symbol, axes = context.symbols.get(trial.perturbation, ("", ""))
    return Trial(
        session=context.session,
        index=trial.index,
        base_id=trial.base_id,
        perturbation=Perturbation(name=trial.perturbation, symbol=symbol, axes=axes, note=trial.note),
        repeat=trial.repeat,
        instance=instance_to_msg(trial.instance),
        task_digest=context.task_digest,
        start_scene=scene_to_msg(start_scene, start),
        seed=trial.seed,
        start=int(trial.start),
        robot=context.robot,
        policy=context.policy,
        twin=trial.twin,
        block=trial.block,
    )


def fault_to_msg(fault: Fault, detail: str = "") -> FaultMsg:
    """Return the fault with its detail in words."""
    return FaultMsg(code=int(fault), detail=detail)


def fault_from_msg(message: FaultMsg) -> tuple[Fault, str]:
    """Return the fault and its detail in words."""
    return Fault(message.code), message.detail


def progress_to_msg(progress: domain.Progress, frame_id: str) -> ProgressMsg:
    """Return the progress, stamped with the time of the scene it was computed from."""
    return ProgressMsg(header=header(frame_id, progress.stamp), **_others(progress, "stamp"))


def result_to_msg(result: domain.TrialResult, stamp: float) -> TrialResult:
    """Return the scores, stamped with the time of the last scored scene [s]."""
    return TrialResult(
        header=header(result.final_scene.frame_id, stamp),
        outcome=int(result.outcome),
        fault=fault_to_msg(result.fault, result.detail),
        final_scene=scene_to_msg(result.final_scene, stamp),
        **_others(result, "outcome", "fault", "detail", "final_scene"),
    )


def _others(record: Any, *converted: str) -> dict[str, Any]:
    """Return the fields of a record that its message has under the same names."""
    return {f.name: getattr(record, f.name) for f in fields(record) if f.name not in converted}


def move_to_msg(move: domain.SetupMove) -> SetupMove:
    """Return the set-up move."""
    return SetupMove(
        name=move.name,
        model=move.model,
        has_start=move.start is not None,
        start=pose_to_msg(move.start or Pose()),
        has_goal=move.goal is not None,
        goal=pose_to_msg(move.goal or Pose()),
    )
