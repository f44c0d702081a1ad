"""Messages to domain values, by attribute access alone.

The functions take rclpy's messages and those that rosbags makes from a bag: both have the same
attributes, so that the live nodes and a bag read the same floats with the same code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from robocontrast_ros.domain import (
    NANOSECONDS,
    Crop,
    Delivery,
    EpisodeRecord,
    Fault,
    Filter,
    Instruction,
    JointTracking,
    Judgement,
    ObjectState,
    Observed,
    Outcome,
    Pose,
    Progress,
    Proof,
    Scene,
    Segment,
    SegmentKind,
    SetupMove,
    Start,
    TestInstance,
    Trial,
    TrialResult,
)
from robocontrast_ros.messages.images import image_to_array


def stamp_from_msg(message: Any) -> int:
    """Return a builtin_interfaces/Time as a stamp [ns]."""
    return int(message.sec) * NANOSECONDS + int(message.nanosec)


def pose_from_msg(message: Any) -> Pose:
    """Return a geometry_msgs/Pose.

    Raises:
        ValueError: a number is not finite, or the quaternion is not of unit length.
    """
    p, q = message.position, message.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def scene_from_msg(message: Any) -> Scene:
    """Return a Scene without its stamp.

    Raises:
        ValueError: a pose is not valid, or two objects have the same name.
    """
    objects = tuple(ObjectState(o.name, o.model, pose_from_msg(o.pose)) for o in message.objects)
    robot = pose_from_msg(message.robot) if message.has_robot else None
    return Scene(objects, message.header.frame_id, robot, tuple(message.contacts), tuple(message.carried))


def joint_tracking_from_msg(message: Any) -> JointTracking:
    """Return a JointTracking without its stamp.

    Raises:
        ValueError: it has not as many positions as names.
    """
    return JointTracking(
        names=tuple(message.names),
        measured=tuple(map(float, message.measured)),
        commanded=tuple(map(float, message.commanded)),
        gripper_closed=None if math.isnan(message.gripper_closed) else float(message.gripper_closed),
    )


def instance_from_msg(message: Any) -> TestInstance:
    """Return a TestInstance.

    Raises:
        ValueError: as ``scene_from_msg``.
    """
    return TestInstance(
        instance_id=message.instance_id,
        task=message.task,
        instruction=_instruction_from_msg(message.instruction),
        scene=scene_from_msg(message.scene),
        optimal_path_length=message.optimal_path_length,
        reference_path=_path_from_msg(message),
        proof=Proof(message.claim, tuple((m.name, m.value) for m in message.proof)) if message.claim else None,
        observation=filters_from_msg(message.observation),
        problem=message.problem,
        after=message.after,
    )


def _instruction_from_msg(message: Any) -> Instruction:
    return Instruction(
        message.text,
        message.family,
        tuple((a.key, a.value) for a in message.arguments),
        segments_from_msg(message.segments),
        message.meant,
    )


def segments_from_msg(messages: Iterable[Any]) -> tuple[Segment, ...]:
    """Return the segments of an instruction.

    Raises:
        ValueError: an unknown kind, or a picture that cannot be read.
    """
    return tuple(
        Segment(SegmentKind(part.kind), part.text, part.name, part.visible, part.entity, _crop_from_msg(part))
        for part in messages
    )


def _crop_from_msg(message: Any) -> Crop | None:
    return Crop.of(image_to_array(message.image)) if message.image.width else None


def filters_from_msg(messages: Iterable[Any]) -> tuple[Filter, ...]:
    """Return observation filters, in their order."""
    return tuple(Filter(shown.name, shown.severity, shown.camera, tuple(map(float, shown.drawn))) for shown in messages)


def _path_from_msg(message: Any) -> tuple[tuple[float, ...], ...]:
    if message.path_dimensions == 3:
        return tuple((point.x, point.y, point.z) for point in message.reference_path)
    return tuple((point.x, point.y) for point in message.reference_path)


def trial_from_msg(message: Any) -> Trial:
    """Return a Trial.

    Raises:
        ValueError: as ``scene_from_msg``.
    """
    return Trial(
        index=message.index,
        base_id=message.base_id,
        perturbation=message.perturbation.name,
        repeat=message.repeat,
        instance=instance_from_msg(message.instance),
        seed=message.seed,
        note=message.perturbation.note,
        start=Start(message.start),
        twin=message.twin,
        block=message.block,
        step_limit=message.step_limit,
    )


def start_scene_from_msg(message: Any) -> tuple[int, Scene]:
    """Return the start scene of a Trial message, with its stamp [ns].

    If no scene was read back after set-up, it is the target scene, and the stamp is -1: every control step counts.
    """
    start = scene_from_msg(message.start_scene)
    if not start.objects and start.robot is None:
        return -1, scene_from_msg(message.instance.scene)
    return stamp_from_msg(message.start_scene.header.stamp), start


def judgement_from_msg(message: Any) -> Judgement:
    """Return a Judgement.

    Raises:
        ValueError: the progress is not in [0, 1].
    """
    if not 0.0 <= message.progress <= 1.0:
        raise ValueError(f"judgement: got a progress of {message.progress}, expected a number from 0 to 1")
    return Judgement(**_fields(Judgement, message))


def progress_from_msg(message: Any) -> Progress:
    """Return a Progress."""
    return Progress(
        stamp=stamp_from_msg(message.header.stamp),
        success=message.success,
        scores=_scores(message),
    )


def result_from_msg(message: Any) -> TrialResult:
    """Return a TrialResult.

    Raises:
        ValueError: an unknown outcome or fault code, or as ``scene_from_msg``.
    """
    return TrialResult(
        outcome=Outcome(message.outcome),
        fault=Fault(message.fault.code),
        detail=message.fault.detail,
        scores=_scores(message),
        optimal_path_length=message.optimal_path_length,
        steps=message.steps,
        duration=message.duration,
        clamped_steps=message.clamped_steps,
        final_scene=scene_from_msg(message.final_scene),
        stopped=message.stopped,
        subgoals=message.subgoals,
        interventions=interventions_from_msg(message),
    )


def episode_from_msg(result: Any) -> EpisodeRecord:
    """Return the record of the episode from a result of ``RunEpisode``."""
    return EpisodeRecord(
        observed=Observed(result.observed_instruction, result.image_digest, result.told, result.segments_digest),
        delivered=Delivery(result.delivered),
        speed_scaling=None if math.isnan(result.speed_scaling) else result.speed_scaling,
        **_fields(EpisodeRecord, result, "observed", "delivered", "speed_scaling"),
    )


def _fields(record: type, message: Any, *others: str) -> dict[str, Any]:
    """Return what a message has under the names of a record's fields, without the others; lists as tuples."""
    values = {each.name: getattr(message, each.name) for each in fields(record) if each.name not in others}
    return {name: value if isinstance(value, (str, int, float)) else tuple(value) for name, value in values.items()}


def interventions_from_msg(message: Any) -> dict[str, int]:
    """Return the number of interventions of the safety filter in a message that has them, by kind of limit."""
    return {measure.name: int(measure.value) for measure in message.interventions}


def _scores(message: Any) -> dict[str, float]:
    return {measure.name: measure.value for measure in message.scores}


def move_from_msg(message: Any) -> SetupMove:
    """Return a SetupMove."""
    return SetupMove(
        name=message.name,
        model=message.model,
        start=pose_from_msg(message.start) if message.has_start else None,
        goal=pose_from_msg(message.goal) if message.has_goal else None,
    )
