"""Domain values to messages of rclpy's classes. The way back is in ``robocontrast_ros.messages.decoding``."""

from __future__ import annotations

from robocontrast_ros.domain import Fault
from robocontrast_ros.msg import Fault as FaultMsg
from robocontrast_ros.nodes.conversions.encoders import DOMAIN

pose_to_msg = DOMAIN.pose
tool_pose_to_msg = DOMAIN.tool_pose
header = DOMAIN.header
scene_to_msg = DOMAIN.scene
filters_to_msg = DOMAIN.filters
segments_to_msg = DOMAIN.segments
trial_to_msg = DOMAIN.trial
fault_to_msg = DOMAIN.fault
intervention_to_msg = DOMAIN.intervention
progress_to_msg = DOMAIN.progress
result_to_msg = DOMAIN.result
move_to_msg = DOMAIN.move
judgement_to_msg = DOMAIN.judgement


def fault_from_msg(message: FaultMsg) -> tuple[Fault, str]:
    """Return the fault and its detail in words."""
    return Fault(message.code), message.detail
