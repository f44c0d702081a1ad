"""What actions a robot may take: one record a kind of action, with the robot's own bounds of it."""

from __future__ import annotations

import math
from dataclasses import fields

from pydantic import Field

from robocontrast_ros.configuration import record


@record
class PlanarDelta:
    """Action space `planar_delta`: a displacement (dx, dy) of the tool in `world` at a constant height."""

    max_step: float = Field(gt=0.0, description="Greatest |dx| and |dy| of one control step [m].")
    height: float = Field(description="Height of the tool's tip while pushing [m].")


@record
class JointPositions:
    """Action space `joint_positions`: where each joint shall be [rad], one number a joint in the profile's order.

    It is bounded by the joints' limits of position and velocity and by the workspace, which the profile has
    anyway; how the bounds act is in docs/robots.md.
    """

    speed: float = Field(
        default=0.5, gt=0.0, le=1.0, description="Share of the joints' greatest velocities that is used."
    )


@record
class DiscreteNavigation:
    """Action space `discrete_navigation`: 0 STOP, 1 FORWARD, 2 LEFT, 3 RIGHT, each to its end and to rest.

    The order is VLN-CE's (Krantz et al. 2020); the defaults of distance and angle are its 0.25 m, and the 30
    degrees of seed 000 (appendix C.1).
    """

    distance: float = Field(default=0.25, gt=0.0, description="How far FORWARD drives [m].")
    angle: float = Field(
        default=math.radians(30.0), gt=0.0, le=math.pi, description="How far LEFT and RIGHT turn [rad]."
    )
    forward_speed: float = Field(gt=0.0, description="Greatest speed of FORWARD [m/s].")
    turn_speed: float = Field(gt=0.0, description="Greatest speed of LEFT and RIGHT [rad/s].")
    distance_tolerance: float = Field(
        gt=0.0, description="How far from its end FORWARD may come to rest [m]."
    )
    angle_tolerance: float = Field(
        gt=0.0, description="How far from their end LEFT and RIGHT may come to rest [rad]."
    )
    time_limit: float = Field(gt=0.0, description="After which an action that is blocked ends [s].")

    def __post_init__(self) -> None:
        for tolerance, whole in (("distance_tolerance", "distance"), ("angle_tolerance", "angle")):
            if getattr(self, tolerance) > getattr(self, whole) / 4:
                raise ValueError(
                    f"`{tolerance}` of at most a quarter of `{whole}` ({getattr(self, whole) / 4:g}), "
                    f"not {getattr(self, tolerance):g}"
                )


@record
class ActionSpaces:
    """What actions the robot takes; an action space that is absent is not offered."""

    planar_delta: PlanarDelta | None = Field(default=None, description="2D displacement of the tool.")
    joint_positions: JointPositions | None = Field(default=None, description="Where each joint shall be.")
    discrete_navigation: DiscreteNavigation | None = Field(
        default=None, description="Forward, left, right and stop of a mobile base."
    )

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the action spaces that the robot offers."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is not None)
