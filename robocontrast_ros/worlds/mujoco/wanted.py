"""Pictures of scenes that are not there: how a camera of the embedded world would see them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Scene
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.images.rendering import Camera, RenderingUnavailable
from robocontrast_ros.perception import CalibratedCamera
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.mujoco.entities import EntityState
from robocontrast_ros.worlds.mujoco.world import World


class WantedScenes:
    """Draws scenes of a task in a world of its own, in a thread of its own."""

    def __init__(self, robot: RobotProfile, task: Task, camera: Camera) -> None:
        """Take the parts; the world is made when the first picture is asked for."""
        self._robot, self._task, self._camera = robot, task, camera
        self._thread = ThreadPoolExecutor(1, "wanted scenes")
        self._world: World | None = None
        self._spawned: frozenset[str] = frozenset()

    def draw(self, scene: Scene) -> NDArray[np.uint8] | None:
        """Return the picture, shape (height, width, 3), RGB; None where nothing can be drawn on this machine."""
        return self._thread.submit(self._draw, scene).result()

    def calibrated(self) -> CalibratedCamera:
        """Return the camera as it is in that world, exactly.

        Raises:
            InvalidModel: the world has no camera of that name.
        """
        return self._thread.submit(self._calibrated).result()

    def _calibrated(self) -> CalibratedCamera:
        cameras, name = self._made().cameras, self._camera.name
        info = cameras.info(name)
        intrinsics = Intrinsics(info.width, info.height, np.array(info.k).reshape(3, 3), np.zeros(5))
        return CalibratedCamera(intrinsics, cameras.pose(name), self._robot.world_frame)

    def _made(self) -> World:
        if self._world is None:
            self._world = World(self._robot, self._task.scenes.world, None, (self._camera,))
        return self._world

    def close(self) -> None:
        """Free the world."""
        self._thread.submit(lambda: self._world and self._world.close()).result()
        self._thread.shutdown()

    def _draw(self, scene: Scene) -> NDArray[np.uint8] | None:
        models = self._task.scenes.models
        try:
            world, wanted = self._made(), frozenset(scene.names)
            with world.at_once():
                for name in self._spawned - wanted:
                    world.delete(name)
                for item in scene:
                    if item.name not in self._spawned:
                        world.spawn(item.name, item.pose, uri=models[item.model])
            for item in scene:
                world.set_entity_state(item.name, EntityState(item.pose))
            self._spawned = wanted
            if scene.robot is not None:
                # A camera on a base sees the scene from the base's start.
                world.set_entity_state(self._robot.name, EntityState(scene.robot))
            return world.cameras.render(self._camera.name)
        except RenderingUnavailable:
            return None
