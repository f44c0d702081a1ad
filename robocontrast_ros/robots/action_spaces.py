"""The action spaces of a robot: one record each, with the robot's bounds."""

from __future__ import annotations

import math
from dataclasses import fields
from enum import IntEnum

from pydantic import Field

from robocontrast_ros.configuration import record


@record
class PlanarDelta:
    """Action space `planar_delta`: a displacement (dx, dy) of the tool in `world` at a constant height."""

    max_step: float = Field(gt=0.0, description="Greatest |dx| and |dy| of one control step [m].")
    height: float = Field(description="Height of the tool's tip while pushing [m].")


@record
class JointPositions:
    """Action space `joint_positions`: the target of each joint [rad], in the profile's order.

    The bounds are the profile's: limits of position and velocity, and the workspace (docs/robot_actions.md).
    """

    speed: float = Field(
        default=0.5, gt=0.0, le=1.0, description="Share of the joints' greatest velocities that is used."
    )


@record
class JointVelocities:
    """Action space `joint_velocities`: the velocity of each joint during a control step [rad/s].

    The bounds are those of `joint_positions`.
    """

    speed: float = Field(
        default=0.5, gt=0.0, le=1.0, description="Share of the joints' greatest velocities that is used."
    )


@record
class _ToolSpace:
    """The common part of `tool_delta` and `tool_pose`: bounds of the tool's target in one control step."""

    max_step: float = Field(gt=0.0, description="Greatest distance of one control step [m].")
    max_turn: float = Field(gt=0.0, le=math.pi / 2, description="Greatest turn of one control step [rad].")
    speed: float = Field(
        default=0.9, gt=0.0, le=1.0, description="Share of the joints' greatest velocities that is used."
    )


@record
class ToolDelta(_ToolSpace):
    """Action space `tool_delta`: a displacement and a turn of the tool's target, in `world`."""


@record
class ToolPose(_ToolSpace):
    """Action space `tool_pose`: the target of the tool, in `world`."""


class Move(IntEnum):
    """The one number of an action in `discrete_navigation`, as in VLN-CE (Krantz et al. 2020)."""

    STOP = 0
    FORWARD = 1
    LEFT = 2
    RIGHT = 3


@record
class DiscreteNavigation:
    """Action space `discrete_navigation`: one ``Move``, carried out to its end and to rest.

    The default distance is VLN-CE's, the default angle that of seed 000 (appendix C.1).
    """

    distance: float = Field(default=0.25, gt=0.0, description="How far FORWARD drives [m].")
    angle: float = Field(
        default=math.radians(30.0), gt=0.0, le=math.pi, description="How far LEFT and RIGHT turn [rad]."
    )
    forward_speed: float = Field(gt=0.0, description="Greatest speed of FORWARD [m/s].")
    turn_speed: float = Field(gt=0.0, description="Greatest speed of LEFT and RIGHT [rad/s].")
    distance_tolerance: float = Field(gt=0.0, description="How far from its end FORWARD may come to rest [m].")
    angle_tolerance: float = Field(gt=0.0, description="How far from their end LEFT and RIGHT may come to rest [rad].")
    time_limit: float = Field(gt=0.0, description="A blocked action ends after this [s].")

    def __post_init__(self) -> None:
        for tolerance, whole in (("distance_tolerance", "distance"), ("angle_tolerance", "angle")):
            if getattr(self, tolerance) > getattr(self, whole) / 4:
                raise ValueError(
                    f"`{tolerance}` of at most a quarter of `{whole}` ({getattr(self, whole) / 4:g}), "
                    f"not {getattr(self, tolerance):g}"
                )


@record
class ActionSpaces:
    """The action spaces that the robot offers; None if it does not offer one."""

    planar_delta: PlanarDelta | None = Field(default=None, description="2D displacement of the tool.")
    joint_positions: JointPositions | None = Field(default=None, description="Targets of the joints.")
    joint_velocities: JointVelocities | None = Field(default=None, description="Velocities of the joints.")
    tool_delta: ToolDelta | None = Field(default=None, description="6D displacement of the tool.")
    tool_pose: ToolPose | None = Field(default=None, description="6D target of the tool.")
    discrete_navigation: DiscreteNavigation | None = Field(
        default=None, description="Forward, left, right and stop of a mobile base."
    )

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the action spaces that the robot offers."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is not None)
