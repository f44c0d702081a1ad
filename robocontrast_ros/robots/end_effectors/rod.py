"""A rod to push with."""

from __future__ import annotations

from typing import Literal
from xml.etree import ElementTree as ET

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.end_effectors.base import Box, EndEffector
from robocontrast_ros.robots.mjcf import TOOL_SITE, add_shapes, numbers
from robocontrast_ros.robots.profile_base import Rgb, Shape


@record
class Rod(EndEffector):
    """A straight rod along the flange's z axis, held by a bracket; its tip is the frame `tool`."""

    type: Literal["rod"] = Field(description="Type of end effector.")
    length: float = Field(gt=0.0, description="From the flange to the tip [m].")
    offset: float = Field(default=0.0, ge=0.0, description="Of the rod from the flange's axis, along its x [m].")
    radius: float = Field(gt=0.0, description="Radius of the rod [m].")
    mass: float = Field(default=0.15, gt=0.0, description="Mass [kg].")
    color: Rgb = Field(default=(0.15, 0.15, 0.17), description="Red, green and blue in [0, 1].")

    @property
    def tool_pose(self) -> Pose:
        """Pose of the tip in the flange's frame."""
        return Pose((self.offset, 0.0, self.length))

    def add_to(self, flange: ET.Element, root: ET.Element, moving: bool) -> None:
        """Add the rod and its bracket; no part moves."""
        body = ET.SubElement(flange, "body", name="rod", gravcomp="1", pos=numbers((self.offset, 0.0, 0.0)))
        if self.offset:
            add_shapes(body, (self._bracket(),), mass=0.0)
        ET.SubElement(
            body,
            "geom",
            type="cylinder",
            fromto=numbers((0.0, 0.0, 0.0, 0.0, 0.0, self.length)),
            size=f"{self.radius:.9g}",
            mass=f"{self.mass:.9g}",
            rgba=numbers((*self.color, 1.0)),
        )
        ET.SubElement(body, "site", name=TOOL_SITE, pos=numbers((0.0, 0.0, self.length)), size="0.003", group="4")

    @property
    def envelope(self) -> tuple[Box, ...]:
        """The rod, without its bracket."""
        return (Box((0.0, 0.0, -self.length / 2), (self.radius, self.radius, self.length / 2)),)

    def _bracket(self) -> Shape:
        """Return the plate between the flange's axis and the rod, in the rod's frame."""
        half = self.offset / 2
        return Shape(type="box", start=(-half, 0.0, 0.008), end=(half + 0.03, 0.025, 0.006), color=self.color)
