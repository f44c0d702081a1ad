"""Start a world from parameters: what does not fit is one clear error."""

from __future__ import annotations

from collections.abc import Sequence

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.robots.common import RobotProfile
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.worlds.mujoco.entities import InvalidModel, ResourceNotFound, Triple
from robocontrast_ros.worlds.mujoco.rendering import Camera, RenderingUnavailable
from robocontrast_ros.worlds.mujoco.world import World


def start_world(
    profile: RobotProfile,
    uri: str,
    start: Triple | None,
    cameras: Sequence[Camera],
    physics_step: float,
    source: str,
) -> World:
    """Return a world of which each camera has drawn a first image, which takes seconds.

    The arguments are those of ``World``; ``source`` holds them, for the error.

    Raises:
        ConfigurationError: the parameter `world`, `start_position` or `cameras` does not fit.
    """
    offered = [camera.name for camera in profile.cameras]
    names = tuple(camera.name for camera in cameras)
    for name in names:
        if name not in offered:
            raise ConfigurationError.unknown(source, "cameras", name, offered, f"camera of '{profile.name}'")
    try:
        world = World(profile, uri, start, cameras, physics_step)
        for name in names:
            world.render(name)
    except (ResourceNotFound, InvalidModel) as error:
        raise ConfigurationError(source, "world", uri, f"a world model ({error})") from None
    except Unreachable as error:
        expected = f"a place that the tool reaches ({error})"
        raise ConfigurationError(source, "start_position", start, expected) from None
    except RenderingUnavailable as error:
        expected = f"a machine that can draw images ({error})"
        raise ConfigurationError(source, "cameras", names, expected) from None
    return world
