"""Check that this machine has all that a session needs, before the session has a run folder."""

from __future__ import annotations

from importlib.util import find_spec

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.images.rendering import TRIED, RenderingUnavailable, working_backend
from robocontrast_ros.robots.drivers import driver_packages
from robocontrast_ros.sessions.resolving import ResolvedSession


def check_machine(session: ResolvedSession) -> dict[str, str]:
    """Refuse a session for which this machine lacks something; return the variables that spare others the test.

    Raises:
        ConfigurationError: this machine lacks it.
    """
    check_driver_packages(session)
    return check_rendering(session)


def check_driver_packages(session: ResolvedSession) -> None:
    """Refuse a real robot whose driver's interfaces are not installed.

    Raises:
        ConfigurationError: they are not.
    """
    robot = session.robot
    absent = {name: key for name, key in driver_packages(robot.port, robot.driver).items() if find_spec(name) is None}
    if absent:
        key, names = next(iter(absent.values())), ", ".join(absent)
        expected = f"a robot whose driver's interfaces are installed here; these are not: {names}"
        cure = (
            "Run `make setup PURPOSE=robot`, or install them with ROS (apt: ros-<distribution>-<name>) and source it."
        )
        raise ConfigurationError(str(session.robot_file), key, robot.port, expected, cure)


def check_rendering(session: ResolvedSession) -> dict[str, str]:
    """Refuse a session whose simulated cameras cannot be drawn here; return the variables that spare others the test.

    Raises:
        ConfigurationError: they cannot.
    """
    if not (session.world.features.embedded and session.parameters.cameras):
        return {}
    try:
        return {TRIED: working_backend()}
    except RenderingUnavailable as error:
        if error.blame is not None:
            raise error.blame from None
        names = [camera.name for camera in session.parameters.cameras]
        expected = f"a machine that can draw images ({error})"
        raise ConfigurationError(str(session.source), "cameras", names, expected) from None
