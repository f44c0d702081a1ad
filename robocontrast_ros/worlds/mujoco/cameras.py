"""The cameras of a world: images, intrinsics and poses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.images.rendering import Camera, Renderer, RenderingUnavailable
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.worlds.mujoco.bodies import Bodies
from robocontrast_ros.worlds.mujoco.embodiment import xyzw
from robocontrast_ros.worlds.mujoco.entities import InvalidModel
from robocontrast_ros.worlds.mujoco.sensors import CameraInfo

OPTICAL = Pose(orientation=(1.0, 0.0, 0.0, 0.0))
"""The optical frame in MuJoCo's camera frame, which looks along -z with y up, and the inverse, which is the same."""


class Cameras:
    """The rendered cameras, of the robot or else of the world model. Use it from one thread."""

    def __init__(self, cameras: Sequence[Camera], prefix: str, source: str) -> None:
        """Take the cameras, the prefix of the robot's own names, and the model's source for errors."""
        self._cameras = tuple(cameras)
        self._prefix, self._source = prefix, source
        self._renderer: Renderer | None = None
        self._offsets: dict[str, Pose] = {}
        self._fields: dict[str, float] = {}

    def __iter__(self) -> Iterator[Camera]:
        return iter(self._cameras)

    def bind(self, bodies: Bodies) -> None:
        """Connect to a newly composed model; a camera keeps its horizontal field of view at its resolution.

        Raises:
            InvalidModel: the model has no camera of that name.
        """
        self._model, self._data = bodies.model, bodies.data
        self._places = (self._model.cam_pos.copy(), self._model.cam_quat.copy())
        if self._offsets:
            self._put()
        for camera in self._cameras:
            index = self._index(camera.name)
            width, height = self._model.cam_resolution[index]
            half = math.tan(math.radians(self._model.cam_fovy[index]) / 2) * width / height
            if camera.name in self._fields:
                half = math.tan(self._fields[camera.name] / 2)
            self._model.cam_fovy[index] = math.degrees(2 * math.atan(half * camera.height / camera.width))

    def move(self, offsets: Mapping[str, Pose]) -> None:
        """Move some cameras, also in models composed later, and put all others back to their places.

        Args:
            offsets: camera's name -> its pose in the optical frame of its usual place [m]; a camera on a body moves
                with the body.

        Raises:
            InvalidModel: the model has no camera of that name; none is moved then.
        """
        for name in offsets:
            self._index(name)
        if offsets or self._offsets:
            self._offsets = dict(offsets)
            self._put()

    def widen(self, name: str, field: float) -> None:
        """Change the horizontal field of view of a camera, also in models composed later.

        Args:
            name: name of a rendered camera.
            field: the whole angle [rad].

        Raises:
            InvalidModel: the model has no camera of that name.
        """
        index, camera = self._index(name), next(c for c in self if c.name == name)
        self._fields[name] = field
        half = math.tan(field / 2) * camera.height / camera.width
        self._model.cam_fovy[index] = math.degrees(2 * math.atan(half))

    def _put(self) -> None:
        model, data, (positions, turns) = self._model, self._data, self._places
        model.cam_pos[:], model.cam_quat[:] = positions, turns
        for name, offset in self._offsets.items():
            index = self._index(name)
            w, x, y, z = turns[index].tolist()
            place = compose(Pose(tuple(positions[index].tolist()), (x, y, z, w)), OPTICAL)
            moved = compose(compose(place, offset), OPTICAL)
            x, y, z, w = moved.orientation
            model.cam_pos[index], model.cam_quat[index] = moved.position, (w, x, y, z)
        mujoco.mj_camlight(model, data)
        # MuJoCo computes the poses of bodies that never move only when data are made or reset.
        made = mujoco.MjData(model)
        mujoco.mj_kinematics(model, made)
        mujoco.mj_camlight(model, made)
        fixed = model.body_weldid[model.cam_bodyid] == 0
        data.cam_xpos[fixed], data.cam_xmat[fixed] = made.cam_xpos[fixed], made.cam_xmat[fixed]

    def render(self, name: str, begun: Callable[[], None] = lambda: None) -> NDArray[np.uint8]:
        """Return a camera's image, shape (height, width, 3), RGB; ``begun`` is that of ``Renderer.render``.

        Raises:
            RenderingUnavailable: OpenGL does not work on this machine.
        """
        return self._opened().render(self._model, self._data, name, self._index(name), begun)

    def bodies(self, name: str) -> NDArray[np.str_]:
        """Return the name of the body that each pixel of a camera shows, shape (height, width); empty for none.

        Raises:
            RenderingUnavailable: OpenGL does not work on this machine.
        """
        shown = self._opened().geometries(self._model, self._data, name, self._index(name))
        names = np.array([*(self._model.body(int(body)).name for body in self._model.geom_bodyid), ""])
        return names[shown]

    @property
    def renderer(self) -> str:
        """The renderer of the images, in words."""
        if not self._cameras:
            return "nothing is drawn"
        try:
            return f"drawn by {self._opened().description}"
        except RenderingUnavailable:
            return "nothing can be drawn here"

    def info(self, name: str) -> CameraInfo:
        """Return a camera's intrinsics; pixel (0, 0) is the centre of the upper left pixel."""
        chosen = next(c for c in self if c.name == name)
        fovy = math.radians(self._model.cam_fovy[self._index(name)])
        focal = chosen.height / 2 / math.tan(fovy / 2)
        centre_x, centre_y = (chosen.width - 1) / 2, (chosen.height - 1) / 2
        return CameraInfo(chosen.width, chosen.height, (focal, 0.0, centre_x, 0.0, focal, centre_y, 0.0, 0.0, 1.0))

    def pose(self, name: str) -> Pose:
        """Return the pose of a camera's optical frame (REP-103: z forward, y down)."""
        index = self._index(name)
        matrix = self._data.cam_xmat[index].reshape(3, 3) * np.array([1.0, -1.0, -1.0])
        x, y, z = self._data.cam_xpos[index].tolist()
        return Pose((x, y, z), xyzw(matrix))

    def standing(self) -> tuple[str, ...]:
        """Return the names of the cameras of the world that never move by themselves."""
        fixed = self._model.body_weldid[self._model.cam_bodyid] == 0
        own = {self._model.camera(i).name.removeprefix(self._prefix) for i in range(self._model.ncam) if self._own(i)}
        return tuple(camera.name for camera in self if camera.name not in own and fixed[self._index(camera.name)])

    def close(self) -> None:
        """Free the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _opened(self) -> Renderer:
        if self._renderer is None:
            self._renderer = Renderer(self._cameras)
        return self._renderer

    def _own(self, index: int) -> bool:
        return self._model.camera(index).name.startswith(self._prefix)

    def _index(self, name: str) -> int:
        for candidate in (self._prefix + name, name):
            index = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA.value, candidate)
            if index >= 0:
                return index
        known = (self._model.camera(i).name.removeprefix(self._prefix) for i in range(self._model.ncam))
        raise InvalidModel(f"{self._source}: no camera '{name}'; there are: {', '.join(known)}")
