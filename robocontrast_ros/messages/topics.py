"""Topics with their message types."""

from __future__ import annotations

from typing import NamedTuple

from robocontrast_ros.configuration import ConfigurationError


class Topic(NamedTuple):
    """A topic and the type of its messages.

    Attributes:
        name: name of the topic, relative to the namespace.
        type_name: for instance ``sensor_msgs/msg/Image``.
    """

    name: str
    type_name: str

    @classmethod
    def parse(cls, text: str, source: str, key: str) -> Topic:
        """Return the topic that a parameter names.

        Args:
            text: ``topic package/msg/Type``, as ``str`` writes it.
            source: holder of the parameter, for the error.
            key: the parameter.

        Raises:
            ConfigurationError: the text has another form.
        """
        name, _, type_name = text.partition(" ")
        if not name or type_name.count("/") != 2:
            raise ConfigurationError(source, key, text, "'topic package/msg/Type'")
        return cls(name, type_name)

    def __str__(self) -> str:
        return f"{self.name} {self.type_name}"


TRIAL_TOPICS = (
    Topic("trial", "robocontrast_ros/msg/Trial"),
    Topic("scene", "robocontrast_ros/msg/Scene"),
    Topic("tool_pose", "geometry_msgs/msg/PoseStamped"),
    Topic("progress", "robocontrast_ros/msg/Progress"),
    Topic("trial_result", "robocontrast_ros/msg/TrialResult"),
)
"""Topics for scoring a trial again; each bag has them."""

JUDGEMENT = Topic("judgement", "robocontrast_ros/msg/Judgement")
"""Judgement of a trial from outside, if the session's judge asks; scoring also uses it."""

JOINT_TRACKING = Topic("joint_tracking", "robocontrast_ros/msg/JointTracking")
"""An arm's joints and their commands at each control step, if a score of the session needs them."""

SAFETY = Topic("safety", "robocontrast_ros/msg/SafetyIntervention")
"""Interventions of the safety filter in commands; each bag has it."""

STOP_TOPICS = (
    Topic("heartbeat", "robocontrast_ros/msg/Heartbeat"),
    Topic("stop", "std_msgs/msg/String"),
    Topic("stopped", "robocontrast_ros/msg/Stopped"),
)
"""Topics of the watchdog: the rollout's heartbeat, requests to stop, and the state of the stop; on the wall clock
alone."""

SHOWN = Topic("shown", "robocontrast_ros/msg/Observation")
"""The policy's observation if a filter changed it; recorded beside the sensors' if a session perturbs observations."""

IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
"""Types of cameras' topics."""

TF_MESSAGE = "tf2_msgs/msg/TFMessage"
"""Type of `tf` and `tf_static`."""

ROBOT_DESCRIPTION = Topic("robot_description", "std_msgs/msg/String")
"""The robot as URDF, latched: published by its driver's robot_state_publisher, or by the embedded simulator."""

DIAGNOSTICS = Topic("diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
"""State of the session, of the robot's driver and of the cameras, once a second."""
