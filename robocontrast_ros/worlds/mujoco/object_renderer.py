"""Pictures of objects and of whole tables, for people: in fine quality, without a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import TracebackType

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.rendering import Camera, Renderer
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.objects.mjcf import object_spec
from robocontrast_ros.objects.settling import WORLD

Image = NDArray[np.uint8]

SURROUNDINGS = """
<mujoco>
  <visual>
    <headlight ambient="0.42 0.42 0.42" diffuse="0.30 0.30 0.30" specular="0.1 0.1 0.1"/>
    <map znear="0.02" zfar="20" shadowclip="1"/>
  </visual>
  <statistic extent="0.6" center="0 0 0"/>
  <asset>
    <texture name="sky" type="skybox" builtin="flat" rgb1="0.95 0.95 0.94" width="16" height="96"/>
  </asset>
  <worldbody>
    <light pos="0.5 -0.5 1.6" dir="-0.32 0.30 -1" directional="true" diffuse="0.45 0.45 0.45" specular="0.3 0.3 0.3"/>
    <geom type="plane" size="20 20 0.1" rgba="0.95 0.95 0.94 1"/>
  </worldbody>
</mujoco>
"""

CAMERA, FOVY = "portrait", 24.0
"""The camera of portraits, and its vertical field of view [deg]."""

RAISED, TURNED = math.radians(28.0), math.radians(-56.0)
"""Direction from which portraits are taken: angle above the ground, and angle from x towards y [rad]."""


class ObjectRenderer:
    """Draws pictures of one size; use it in a ``with`` block, from one thread."""

    def __init__(self, width: int, height: int, camera: str = CAMERA, world: str = WORLD) -> None:
        """Open the renderer.

        Args:
            width: width of the pictures [pixel].
            height: height of the pictures [pixel].
            camera: camera of the world, for ``scenery``; portraits have one of their own.
            world: URI of the world model, for ``scenery``.

        Raises:
            RenderingUnavailable: OpenGL does not work on this machine.
        """
        self._camera, self._world = Camera(camera, width, height), world
        self._renderer = Renderer((self._camera,), fine=True)

    def __enter__(self) -> ObjectRenderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._renderer.close()

    def portrait(self, model: ObjectModel) -> Image:
        """Return a picture that an object on a plain ground fills, shape (height, width, 3), RGB."""
        spec = mujoco.MjSpec.from_string(SURROUNDINGS)
        aim = np.array([0.0, 0.0, model.size[2] * 0.45])
        away = np.array([math.cos(RAISED) * math.cos(TURNED), math.cos(RAISED) * math.sin(TURNED), math.sin(RAISED)])
        right = np.array([-math.sin(TURNED), math.cos(TURNED), 0.0])
        up = np.cross(away, right)
        corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
        seen = corners * np.array(model.size) - aim
        half = math.tan(math.radians(FOVY) / 2)
        ratio = self._camera.width / self._camera.height
        near = (np.abs(np.einsum("ij,j->i", seen, axis)) / (half * scale) for axis, scale in ((right, ratio), (up, 1)))
        depth = np.einsum("ij,j->i", seen, away)
        distance = 1.12 * max(float((extent + depth).max()) for extent in near)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.column_stack((right, up, away)).ravel())
        spec.worldbody.add_camera(name=CAMERA, pos=aim + distance * away, quat=quaternion, fovy=FOVY)
        return self._drawn(spec, [(model, Pose())])

    def scenery(self, models: Iterable[tuple[ObjectModel, Pose]]) -> Image:
        """Return the picture of a table with its background and light, and with objects on it."""
        return self._drawn(mujoco.MjSpec.from_file(str(resolve_uri(self._world))), list(models))

    def _drawn(self, spec: mujoco.MjSpec, models: Sequence[tuple[ObjectModel, Pose]]) -> Image:
        parts = []  # a part must outlive the compilation of the model to which it is attached
        for index, (model, pose) in enumerate(models):
            part = object_spec(model)
            parts.append(part)
            body = part.worldbody.first_body()
            x, y, z, w = pose.orientation
            body.pos, body.quat = pose.position, (w, x, y, z)
            spec.worldbody.add_frame().attach_body(body, f"{index}/", "")
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        return self._renderer.render(model, data, self._camera.name, model.camera(self._camera.name).id)
