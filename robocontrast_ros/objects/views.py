"""Camera views of a scene without a robot: images, and the hidden share of a thing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain.products import product
from robocontrast_ros.domain.scene import Scene
from robocontrast_ros.images.rendering import Camera, Renderer
from robocontrast_ros.objects.mjcf import FREE
from robocontrast_ros.objects.model import ObjectModel
from robocontrast_ros.objects.settling import compiled

ALL_HIDDEN = 1.0
"""Occlusion of a thing outside a camera's image."""

OWN = 5
"""Group of the geometries that rays can meet."""


class SceneViews:
    """Views of scenes without the robot. OpenGL is opened at the first view; use it from one thread."""

    def __init__(self, library: Mapping[str, ObjectModel], world: str, cameras: Sequence[Camera]) -> None:
        """Take the cameras of the world.

        Args:
            library: models by name.
            world: URI of the world, for its cameras and light.
            cameras: the cameras; each keeps its vertical field of view.
        """
        self._library, self._world, self._cameras = library, world, tuple(cameras)
        self._renderer: Renderer | None = None
        # With and without looks, whose textures take longest: the last things in the scene, and their model.
        self._compiled: dict[bool, tuple[tuple[tuple[str, str], ...], mujoco.MjModel, mujoco.MjData]] = {}

    def image(self, scene: Scene, camera: str) -> NDArray[np.uint8]:
        """Return a camera's image, shape (height, width, 3), RGB.

        Raises:
            RenderingUnavailable: OpenGL does not work on this machine.
            KeyError: the library has no such model.
        """
        model, data = self._placed(scene, looks=True)
        return self._opened().render(model, data, camera, model.camera(camera).id)

    def occlusion(self, scene: Scene, name: str, camera: str) -> float:
        """Return the share of a thing's pixels that other things hide from a camera, 0 to 1; 1 if it is out of view.

        A ray is sent through the middle of each pixel, as a segmentation image would be drawn, but without OpenGL,
        whose drivers differ: scenes are chosen by this number.

        Raises:
            KeyError: the scene has no such thing.
        """
        model, data = self._placed(scene, looks=False)
        top = model.body(f"{name}/{scene[name].model}").id
        own = np.flatnonzero(model.body_rootid[model.geom_bodyid] == top)
        eye, rays = self._rays(model, data, camera, own)
        groups = model.geom_group.copy()
        model.geom_group[own] = OWN
        towards = _hit(model, data, eye, rays, only=True)
        model.geom_group[:] = groups
        alone = rays[towards >= 0]
        if not len(alone):
            return ALL_HIDDEN
        return 1.0 - float(np.isin(_hit(model, data, eye, alone), own).mean())

    def _rays(
        self, model: mujoco.MjModel, data: mujoco.MjData, camera: str, geoms: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a camera's position, and the directions of its pixels in a box around geometries, shape (n, 3)."""
        index, size = model.camera(camera).id, next(c for c in self._cameras if c.name == camera)
        eye, axes = data.cam_xpos[index].copy(), data.cam_xmat[index].reshape(3, 3).copy()
        focal = size.height / 2.0 / math.tan(math.radians(model.cam_fovy[index]) / 2.0)
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        corners = np.concatenate(
            [
                data.geom_xpos[g]
                + product(model.geom_aabb[g, :3] + signs * model.geom_aabb[g, 3:], data.geom_xmat[g].reshape(3, 3).T)
                for g in geoms
            ]
        )
        # The camera looks along its -z; rows grow downwards.
        x, y, z = product(corners - eye, axes).T
        columns, rows = size.width / 2.0 - focal * x / z, size.height / 2.0 + focal * y / z
        first, last = (np.floor([f(columns), f(rows)]).astype(int) for f in (np.min, np.max))
        u = np.arange(max(first[0], 0), min(last[0] + 1, size.width)) + 0.5 - size.width / 2.0
        v = np.arange(max(first[1], 0), min(last[1] + 1, size.height)) + 0.5 - size.height / 2.0
        across, down = (grid.ravel() for grid in np.meshgrid(u, v))
        pixels = np.stack([across / focal, -down / focal, np.full(across.shape, -1.0)], axis=1)
        return eye, product(pixels, axes.T)

    @cached_property
    def positions(self) -> dict[str, tuple[float, float, float]]:
        """Position of each camera of the world, world frame [m]."""
        spec = mujoco.MjSpec.from_file(str(resolve_uri(self._world)))
        return {camera.name: tuple(camera.pos.tolist()) for camera in spec.cameras}

    def _placed(self, scene: Scene, looks: bool) -> tuple[mujoco.MjModel, mujoco.MjData]:
        standing = tuple(sorted((item.name, item.model) for item in scene))
        if looks not in self._compiled or self._compiled[looks][0] != standing:
            model = compiled(scene, self._library, self._world, looks)
            self._compiled[looks] = standing, model, mujoco.MjData(model)
        _, model, data = self._compiled[looks]
        for item in scene:
            x, y, z, w = item.pose.orientation
            if self._library[item.model].fixed:
                body = model.body(f"{item.name}/{item.model}").mocapid[0]
                data.mocap_pos[body], data.mocap_quat[body] = item.pose.position, (w, x, y, z)
            else:
                data.joint(f"{item.name}/{FREE}").qpos = (*item.pose.position, w, x, y, z)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        return model, data

    def _opened(self) -> Renderer:
        if self._renderer is None:
            self._renderer = Renderer(self._cameras)
        return self._renderer


def _hit(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    eye: NDArray[np.float64],
    rays: NDArray[np.float64],
    only: bool = False,
) -> NDArray[np.int32]:
    """Return the geometry that each ray meets first, shape (n,); -1 for none.

    Args:
        model: the model.
        data: its state.
        eye: start of the rays, shape (3,) [m].
        rays: their directions, shape (n, 3).
        only: whether rays can meet the group ``OWN`` alone.
    """
    groups = np.zeros(mujoco.mjNGROUP, dtype=np.uint8)
    groups[OWN] = 1
    found, distances = np.full(len(rays), -1, dtype=np.int32), np.empty(len(rays))
    mujoco.mj_multiRay(
        model,
        data,
        eye,
        rays.ravel(),
        groups if only else None,
        1,
        -1,
        found,
        distances,
        None,
        len(rays),
        mujoco.mjMAXVAL,
    )
    return found
