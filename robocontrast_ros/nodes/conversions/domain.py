"""Conversion of domain values, stamps and descriptions of policies to messages of rclpy's classes.

Most of the inverse conversions are in ``robocontrast_ros.messages.decoding``.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from typing import Any

from robocontrast_ros.domain import ActionConventions, Fault
from robocontrast_ros.messages.encoding import Encoder
from robocontrast_ros.msg import Fault as FaultMsg
from robocontrast_ros.msg import PolicyDescription as PolicyDescriptionMsg
from robocontrast_ros.policies.protocol import PolicyDescription


@cache
def message_class(type_name: str) -> type:
    """Return the class of a type such as ``sensor_msgs/msg/Image``, whose package is installed."""
    package, _, name = type_name.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def make_message(type_name: str, /, **values: Any) -> Any:
    """Return a message of a type with values for some of its fields; the others have their default."""
    return message_class(type_name)(**values)


DOMAIN = Encoder(make_message)
"""Converts domain values to messages of rclpy's classes."""

time_to_msg = DOMAIN.time
pose_to_msg = DOMAIN.pose
tool_pose_to_msg = DOMAIN.tool_pose
joint_tracking_to_msg = DOMAIN.joint_tracking
header = DOMAIN.header
scene_to_msg = DOMAIN.scene
filters_to_msg = DOMAIN.filters
segments_to_msg = DOMAIN.segments
trial_to_msg = DOMAIN.trial
fault_to_msg = DOMAIN.fault
intervention_to_msg = DOMAIN.intervention
interventions_to_msg = DOMAIN.interventions
progress_to_msg = DOMAIN.progress
result_to_msg = DOMAIN.result
move_to_msg = DOMAIN.move
judgement_to_msg = DOMAIN.judgement

_CONVENTIONS = ("reference", "frame", "rotation", "gripper")
_SAME = ("name", "action_space", "action_size", "chunk_length", "privileged", "tokenizer")


def fault_from_msg(message: FaultMsg) -> tuple[Fault, str]:
    """Return the fault and its detail in words."""
    return Fault(message.code), message.detail


def description_to_msg(description: PolicyDescription, parameters: str, file: str = "") -> PolicyDescriptionMsg:
    """Return the message of a description, with the text and the path of the parameter file."""
    sizes = [size or (0, 0) for size in description.image_sizes or (None,) * len(description.cameras)]
    return PolicyDescriptionMsg(
        **{name: getattr(description, name) for name in _SAME},
        file=file,
        parameters=parameters,
        **{name: getattr(description.conventions, name) or "" for name in _CONVENTIONS},
        rate=description.rate or 0.0,
        execute=description.executed,
        ensemble=math.nan if description.ensemble is None else description.ensemble,
        cameras=list(description.cameras),
        image_widths=[width for width, _ in sizes],
        image_heights=[height for _, height in sizes],
        joints=description.joints or 0,
        observes=list(description.observes),
        max_tokens=description.max_tokens or 0,
        letter_case=description.case,
        refuses_empty=not description.accepts_empty,
        objects=description.shows_objects,
        referents=description.referents,
        mask=description.mask,
        late=description.late,
        vocabulary=list(description.vocabulary),
    )


def description_from_msg(message: PolicyDescriptionMsg) -> PolicyDescription:
    """Return the description in a message."""
    sizes = tuple(
        (width, height) if width and height else None
        for width, height in zip(message.image_widths, message.image_heights, strict=True)
    )
    return PolicyDescription(
        **{name: getattr(message, name) for name in _SAME},
        cameras=tuple(message.cameras),
        conventions=ActionConventions(**{name: getattr(message, name) or None for name in _CONVENTIONS}),
        rate=message.rate or None,
        image_sizes=sizes if any(sizes) else (),
        joints=message.joints or None,
        observes=tuple(message.observes),
        execute=message.execute,
        ensemble=None if math.isnan(message.ensemble) else message.ensemble,
        max_tokens=message.max_tokens or None,
        case=message.letter_case or "any",
        accepts_empty=not message.refuses_empty,
        objects=message.objects,
        referents=message.referents or "none",
        mask=message.mask or "omit",
        late=message.late or "hold",
        vocabulary=tuple(message.vocabulary),
    )
