"""Whether a session's policy fits its robot and cameras, checked before anything moves."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError, find_configured
from robocontrast_ros.policies.catalogue import load_and_describe
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.sessions.reading import check_tokenizer
from robocontrast_ros.sessions.resolving import ResolvedSession


def check_description(description: PolicyDescription, session: ResolvedSession, source: str) -> None:
    """Refuse a policy that does not fit a session's robot and cameras, as ``check_fit`` does, or its world.

    Raises:
        ConfigurationError: they differ, its tokens cannot be counted, or the world cannot show it the ground truth.
    """
    if description.privileged and not session.world.streams:
        backend = session.parameters.world.backend
        raise ConfigurationError(
            str(session.source),
            "policy",
            description.name,
            f"one without the ground truth: backend '{backend}' cannot tell the scene of every control step",
            "A policy that sees, or that guesses (`random`), can run there.",
        )
    cameras = {camera.name: (camera.width, camera.height) for camera in session.parameters.cameras or ()}
    check_fit(description, session.robot, session.task.control_rate, cameras, source)
    check_tokenizer(description, source)


def check_policies(session: ResolvedSession) -> tuple[PolicyDescription, ...]:
    """Compare what a session's policies describe with the robot and the cameras; return their descriptions.

    A policy is loaded for that and closed again; it is not loaded where its file alone shows that it does not fit.
    A policy on a server elsewhere is checked later, when the server answers; then nothing is returned.

    Raises:
        ConfigurationError: a parameter file does not fit, or a policy not the robot.
    """
    return tuple(_check_policy(session, file) for file in session.policy_files)


def _check_policy(session: ResolvedSession, file: Path) -> PolicyDescription:
    def checked(description: PolicyDescription) -> PolicyDescription:
        check_description(description, session, str(file))
        return description

    maker = find_configured("policies", file)
    if hasattr(maker, "describe_file"):
        checked(maker.describe_file(file))
    return checked(load_and_describe(maker, file))
