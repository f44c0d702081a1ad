"""A hand with two sliding fingers, and an arm that has it: as small as they can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import yaml

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.end_effectors.base import DRIVE, Box, EndEffector, HandJoint
from robocontrast_ros.robots.mjcf import TOOL_SITE

LENGTH, OPEN = 0.12, 0.04
"""From the flange to the finger tips, and how far each finger is from the middle where the hand is open [m]."""


@record
class TwoFingers(EndEffector):
    """Boxes that slide along y."""

    @property
    def tool_pose(self) -> Pose:
        return Pose((0.0, 0.0, LENGTH))

    def add_to(self, flange: ET.Element, root: ET.Element, moving: bool) -> None:
        hand = ET.SubElement(flange, "body", name="hand", gravcomp="1")
        ET.SubElement(hand, "geom", type="box", size="0.02 0.06 0.03", pos="0 0 0.03", mass="0.5")
        ET.SubElement(hand, "site", name=TOOL_SITE, pos=f"0 0 {LENGTH}")
        for joint, side in zip(self.joints, (1, -1), strict=True):
            place = f"0 {side * (0.0 if moving else OPEN)} 0.09"
            finger = ET.SubElement(hand, "body", name=joint.name, gravcomp="1", pos=place)
            ET.SubElement(finger, "geom", type="box", size="0.01 0.005 0.03", pos=f"0 {side * 0.005} 0", mass="0.02")
            if moving:
                span = {"range": f"0 {OPEN}", "axis": f"0 {side} 0"}
                ET.SubElement(finger, "joint", name=joint.name, type="slide", damping="5", armature="0.1", **span)
        if moving:
            names = {f"joint{k + 1}": joint.name for k, joint in enumerate(self.joints)}
            ET.SubElement(ET.SubElement(root, "equality"), "joint", **names)
            drive = {"joint": self.joints[0].name, "kp": "1000", "kv": "50"}
            ET.SubElement(root.find("actuator"), "position", name=DRIVE, **drive)

    @property
    def joints(self) -> tuple[HandJoint, ...]:
        return (HandJoint("finger1", OPEN, 0.0), HandJoint("finger2", OPEN, 0.0))

    @property
    def greatest_width(self) -> float:
        return 2 * OPEN

    def width(self, positions) -> float:
        return sum(positions)

    def positions(self, width: float) -> tuple[float, ...]:
        return (width / 2, width / 2)

    @property
    def envelope(self) -> tuple[Box, ...]:
        return (Box((0.0, 0.0, -0.06), (0.02, 0.06, 0.06)),)


def write_arm_with_a_hand(path: Path, **keys: Any) -> Path:
    """Write the file of a Franka with such a hand, and with some keys changed."""
    content = {
        "extends": "franka",
        "name": path.stem,
        "end_effector": {"type": "two_finger_hand:TwoFingers"},
        "gripper_command": {"topic": "gripper/commands", "type": "std_msgs/msg/Float64MultiArray"},
        "workspace": {"x": [0.1, 0.7], "y": [-0.4, 0.4], "z": [0.005, 0.6]},
        "contacts_topic": "contacts",
    }
    path.write_text(yaml.safe_dump(content | keys))
    return path
