"""Pictures of scenes that do not exist yet, as a camera of the embedded world would see them."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Scene, whole_of
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.images.rendering import Camera, RenderingUnavailable
from robocontrast_ros.objects.frames import compose, inverse
from robocontrast_ros.perception import CalibratedCamera
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.mujoco.cameras import Cameras
from robocontrast_ros.worlds.mujoco.entities import EntityState, InvalidModel
from robocontrast_ros.worlds.mujoco.world import World

Lens = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Column and row in the drawn picture for each pixel of the wanted picture, each of shape (rows, columns)."""


class WantedScenes:
    """Draws scenes of a task in a world of its own, in a thread of its own."""

    def __init__(self, robot: RobotProfile, task: Task, camera: Camera, real: CalibratedCamera | None = None) -> None:
        """Take the parts; the world is made for the first picture.

        Args:
            robot: the robot of the world.
            task: the task of the scenes.
            camera: the camera of the world that draws them.
            real: the calibrated camera whose pictures are imitated; None for pictures of the world's own camera.
        """
        if real is not None:
            camera = Camera(camera.name, real.intrinsics.width, real.intrinsics.height)
        self._robot, self._task, self._camera, self._real = robot, task, camera, real
        self._lens: Lens | None = None
        self._thread = ThreadPoolExecutor(1, "wanted scenes")
        self._world: World | None = None
        self._spawned: frozenset[tuple[str, str]] = frozenset()

    def draw(self, scene: Scene) -> NDArray[np.uint8] | None:
        """Return the picture, shape (height, width, 3), RGB.

        None if this machine cannot render images, or the world has no such camera.
        """
        return self._thread.submit(self._draw, scene).result()

    def calibrated(self) -> CalibratedCamera:
        """Return the exact calibration of the camera in that world.

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
            world = World(self._robot, self._task.scenes.world, None, (self._camera,))
            try:
                if self._real is not None:
                    self._lens = _put_as(world.cameras, self._camera, self._real)
            except InvalidModel:
                world.close()
                raise
            self._world = world
        return self._world

    def close(self) -> None:
        """Free the world."""
        self._thread.submit(lambda: self._world and self._world.close()).result()
        self._thread.shutdown()

    def _draw(self, scene: Scene) -> NDArray[np.uint8] | None:
        models = self._task.scenes.models
        try:
            world, wanted = self._made(), frozenset((item.name, item.model) for item in scene)
            with world.at_once():
                for name, _ in self._spawned - wanted:
                    if not whole_of(name):
                        world.delete(name)
                for item in scene:
                    if (item.name, item.model) not in self._spawned and not whole_of(item.name):
                        world.spawn(item.name, item.pose, uri=models[item.model])
            # The pose of a part depends on that of its object.
            for item in sorted(scene, key=lambda item: bool(whole_of(item.name))):
                world.set_entity_state(item.name, EntityState(item.pose))
            self._spawned = wanted
            if scene.robot is not None:
                # A camera on a base sees the scene from the base's start.
                world.set_entity_state(self._robot.name, EntityState(scene.robot))
            picture = world.cameras.render(self._camera.name)
        except (RenderingUnavailable, InvalidModel):
            return None
        return picture if self._lens is None else cv2.remap(picture, *self._lens, cv2.INTER_LINEAR)


def _put_as(cameras: Cameras, camera: Camera, real: CalibratedCamera) -> Lens:
    """Make a camera of a world see at least the view of a real one, from its pose; return the map of the pictures."""
    cameras.move({camera.name: compose(inverse(cameras.pose(camera.name)), real.pose)})
    rows, columns = np.indices((camera.height, camera.width), dtype=float)
    pixels = np.stack((columns, rows), axis=-1).reshape(-1, 1, 2)
    k, d = real.intrinsics.matrix, real.intrinsics.distortion
    rays = cv2.undistortPoints(pixels, k, d).reshape(camera.height, camera.width, 2)
    across, down = np.abs(rays).reshape(-1, 2).max(axis=0).tolist()
    # A pixel more, so that the outermost pixels are between two of the drawn ones.
    half = max(across, down * camera.width / camera.height) * (1.0 + 4.0 / camera.width)
    cameras.widen(camera.name, 2.0 * math.atan(half))
    focal, _, centre_x, _, _, centre_y, *_ = cameras.info(camera.name).k
    x, y = focal * rays[..., 0] + centre_x, focal * rays[..., 1] + centre_y
    return x.astype(np.float32), y.astype(np.float32)
