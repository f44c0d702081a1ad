"""Whether a session's policy can drive its robot, found out before anything is started."""

from __future__ import annotations

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.controllers import make_controller
from robocontrast_ros.sessions.parameters import ResolvedSession


def check_policy(session: ResolvedSession) -> PolicyDescription:
    """Load the policy and compare what it describes with the robot and the cameras in use.

    Raises:
        ConfigurationError: the parameter file does not fit, the robot does not offer the policy's
            action space, or a camera that it needs is not in use.
    """
    description = load_configured("policies", session.policy_file).describe()
    source = str(session.policy_file)
    controller = make_controller(session.robot, description.action_space, 1.0 / session.task.control_rate)
    if controller.action_size != description.action_size:
        raise ConfigurationError(
            source,
            "action_size",
            description.action_size,
            f"{controller.action_size}, for action space '{description.action_space}'",
        )
    in_use = [camera.name for camera in session.parameters.cameras]
    for camera in description.cameras:
        if camera not in in_use:
            raise ConfigurationError.unknown(source, "cameras", camera, in_use, "camera of the session")
    return description
