"""The key `safety` of a robot's file: limits of commands, each with its remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo

from robocontrast_ros.configuration import parse_record, read_yaml, record
from robocontrast_ros.configuration.files import find_file

Remedy = Literal["slow", "stop"]
"""The remedy if a limit would be exceeded: the robot goes less far, or the episode ends."""

Range = tuple[float, float]


@record
class Limit:
    """A limit, in the unit of its key."""

    limit: float | None = Field(
        default=None,
        gt=0.0,
        allow_inf_nan=False,
        description="Greatest value; empty if only the robot's own limit holds.",
    )
    action: Remedy = Field(default="slow", description="`slow`: the robot goes less far; `stop`: the episode ends.")


@record
class Jump:
    """Greatest distance of a joint's target from its measured position; the episode ends if it is farther."""

    # An embedded or real arm lags at most by two greatest turns of 0.2 rad, then its controller starts again from its
    # place, and the greatest step is 0.28 rad (nine tenths of the UR5e's 180 degrees/s for 0.1 s).
    limit: float = Field(default=0.7, gt=0.0, allow_inf_nan=False, description="Greatest distance of a joint [rad].")
    action: Literal["stop"] = Field(default="stop", description="`stop`: the episode ends.")


@record
class WorkspaceLimit:
    """Limit that keeps the tool in the robot's `workspace`."""

    # The controllers keep the tool's target inside, and inverse kinematics misses it by millimetres.
    margin: float = Field(
        default=0.01, allow_inf_nan=False, description="How far the tool may be outside [m]; negative keeps it inside."
    )
    action: Remedy = Field(default="slow", description="`slow`: the arm goes less far; `stop`: the episode ends.")


@record
class Area:
    """A rectangle on the floor, in the frame `world`."""

    x: Range = Field(description="Least and greatest x [m].")
    y: Range = Field(description="Least and greatest y [m].")

    def __post_init__(self) -> None:
        for axis in "xy":
            lower, upper = getattr(self, axis)
            if not lower < upper:
                raise ValueError(f"`{axis}` as [least, greatest] (got [{lower}, {upper}])")


@record
class KeepOut:
    """Forbidden areas of a base."""

    areas: tuple[Area, ...] = Field(default=(), description="Rectangles that no part of the base may enter.")
    margin: float = Field(
        default=0.0, ge=0.0, allow_inf_nan=False, description="Distance that is kept between them and the base [m]."
    )
    action: Remedy = Field(default="slow", description="`slow`: the base goes less far; `stop`: the episode ends.")


@record
class _Safety:
    # 0.25 takes a tool half a metre from the axis of an FR3's joint (2.175 rad/s) to about the 250 mm/s that
    # ISO 10218-1 calls reduced speed.
    reduced_speed: float = Field(
        default=0.25, gt=0.0, le=1.0, description="Share of the velocity limits that holds while a person is near."
    )


@record
class ArmSafety(_Safety):
    """Limits of commands to an arm."""

    workspace: WorkspaceLimit = Field(default=WorkspaceLimit(), description="Of the tool's tip.")
    velocity: Limit = Field(default=Limit(), description="Of each joint [rad/s]; never more than its own `velocity`.")
    acceleration: Limit = Field(default=Limit(), description="Of each joint, commanded [rad/s^2].")
    jerk: Limit = Field(default=Limit(), description="Of each joint, commanded [rad/s^3].")
    jump: Jump = Field(default=Jump(), description="Distance from a joint's measured position to its target.")
    force: Limit = Field(
        default=Limit(action="stop"), description="At the tool [N], where the driver reports it; `slow` holds the arm."
    )
    homing_speed: float = Field(
        default=0.5,  # a fifth of the speed of the slowest joint of the shipped arms
        gt=0.0,
        allow_inf_nan=False,
        description="Speed of the joint that has the longest way to the start of an episode [rad/s].",
    )


@record
class BaseSafety(_Safety):
    """Limits of commands to a base.

    Its driver ramps its speed itself, so that a command may be a step: there is no limit of acceleration or jerk unless
    a file gives one.
    """

    linear_velocity: Limit = Field(default=Limit(), description="[m/s]; never more than `limits.linear_speed`.")
    angular_velocity: Limit = Field(default=Limit(), description="[rad/s]; never more than `limits.angular_speed`.")
    linear_acceleration: Limit = Field(default=Limit(), description="Commanded [m/s^2].")
    angular_acceleration: Limit = Field(default=Limit(), description="Commanded [rad/s^2].")
    linear_jerk: Limit = Field(default=Limit(), description="Commanded [m/s^3].")
    angular_jerk: Limit = Field(default=Limit(), description="Commanded [rad/s^3].")
    keep_out: KeepOut = Field(default=KeepOut(), description="Areas that it must not enter.")


def reads(kind: type) -> Callable[[Any, ValidationInfo], Any]:
    """Return the reader of the key `safety`: its keys, or name or path of a file of config/safety/ that has them."""

    def read(given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, str):
            return given
        robot = (info.context or {}).get("source", "")
        path = find_file("safety", given, robot, "safety", Path(robot).parent)
        return parse_record(kind, read_yaml(path), str(path))

    return read
