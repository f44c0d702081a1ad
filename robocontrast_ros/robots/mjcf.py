"""The common part of all robots' MJCF models."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from robocontrast_ros.robots.profile_base import Shape

BASE_BODY = "base"
"""Name of a robot model's one top-level body."""

TOOL_SITE = "tool"
"""Name of the site at an arm's frame `tool`."""


def add_shapes(body: ET.Element, shapes: tuple[Shape, ...], mass: float) -> None:
    """Add geoms; the first carries the whole mass, because the primitives only approximate the link."""
    if mass and not shapes:
        ET.SubElement(body, "inertial", pos="0 0 0", mass=f"{mass:.9g}", diaginertia=numbers((mass * 0.01,) * 3))
    for index, shape in enumerate(shapes):
        attributes = {"type": shape.type, "rgba": numbers((*shape.color, 1.0))}
        if shape.type == "box":
            attributes |= {"pos": numbers(shape.start), "size": numbers(shape.end)}
        else:
            attributes |= {"fromto": numbers((*shape.start, *shape.end)), "size": f"{shape.radius:.9g}"}
        ET.SubElement(body, "geom", mass=f"{mass if index == 0 else 0.0:.9g}", **attributes)


def numbers(values: tuple[float, ...]) -> str:
    """Return numbers as an attribute's value."""
    return " ".join(f"{value:.17g}" for value in values)
