"""Whether a session's policy fits its robot and cameras, checked before anything moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.loading import describe, load_and_describe
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.serving.runner import Loading
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
            f"one without the ground truth: backend '{backend}' cannot report the scene of every control step",
            "A policy that sees, or that guesses (`random`), can run there.",
        )
    cameras = {camera.name: (camera.width, camera.height) for camera in session.parameters.cameras or ()}
    check_fit(description, session.robot, session.task.control_rate, cameras, source)
    check_tokenizer(description, source)


def check_policies(
    session: ResolvedSession, load: Callable[[Any, Path], PolicyDescription] = load_and_describe
) -> tuple[PolicyDescription, ...]:
    """Compare the descriptions of a session's policies with robot and cameras; return these descriptions.

    A policy that has no ``describe_file`` is loaded for that.
    A policy on a server elsewhere is checked later, when the server answers; then nothing is returned.

    Args:
        session: the session.
        load: loads and describes a policy, given its class and its file; by default, in this process, which closes it
            again.

    Raises:
        ConfigurationError: a parameter file does not fit, or a policy not the robot.
    """
    found = tuple(describe(file, load) for file in session.policy_files)
    for description, file in zip(found, session.policy_files, strict=True):
        check_description(description, session, str(file))
    return found


def loading_of(session: ResolvedSession, file: Path, own_thread: bool) -> Loading:
    """Return the settings with which a session's policy is loaded.

    Args:
        session: the session.
        file: the policy's parameter file.
        own_thread: see ``PolicyRunner``.
    """
    given, path = session.parameters, file.expanduser().absolute()
    timeouts = given.timeouts
    return Loading(path, timeouts.policy, timeouts.load, own_thread, given.least_answer_time, given.blind is None)
