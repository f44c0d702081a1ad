"""Offscreen rendering of a MuJoCo world on a machine without a screen.

The OpenGL platform is tried out in another process, because a broken driver may end it: EGL
first, then OSMesa. ``MUJOCO_GL`` in the environment, ``egl`` or ``osmesa``, decides it beforehand.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.environment import OPENGL_VARIABLES, blamed, check_values
from robocontrast_ros.system.forking import ForkServer

BACKENDS = ("egl", "osmesa")
PROBE_TIMEOUT = 60.0

TRIED = "ROBOCONTRAST_OPENGL"
"""Environment variable: the platform that worked for the process that started this one."""

_trying = threading.Lock()
_working: list[str] = []
"""The platform that works here; empty before a test."""

SAMPLES, SHADOW = 4, 2048
"""Samples of a pixel, and width of a shadow's map [pixel], in pictures of fine quality."""


class RenderingUnavailable(RuntimeError):
    """No OpenGL platform works on this machine; the message has the remedy.

    Attributes:
        blame: the error of the variable of the environment that is the reason; None if there is none.
    """

    def __init__(self, message: str, blame: ConfigurationError | None = None) -> None:
        """Take the reason."""
        super().__init__(message)
        self.blame = blame


@dataclass(frozen=True)
class Camera:
    """A camera of the world at a resolution.

    Attributes:
        name: of the camera in the world model, or on the robot.
        width: [pixel].
        height: [pixel].
    """

    name: str
    width: int = 320
    height: int = 180


def working_backend(server: ForkServer | None = None) -> str:
    """Return the OpenGL platform that works here: ``egl`` or ``osmesa``. It may be called from several threads.

    Args:
        server: a fork of it tries a platform; if None, or if that fails, a new interpreter does.

    Raises:
        RenderingUnavailable: neither does.
    """
    tried = os.environ.get(TRIED)
    if tried in BACKENDS:
        return tried
    with _trying:
        if not _working:
            _working.append(_found_working(server))
        return _working[0]


def _found_working(server: ForkServer | None) -> str:
    without = "camera images cannot be rendered without a screen"
    try:
        check_values(OPENGL_VARIABLES, os.environ)
    except ConfigurationError as error:
        raise RenderingUnavailable(f"{without}: {error}", error) from None
    backend, failure = _tried(os.environ, server)
    if backend:
        return backend
    blame = blamed(OPENGL_VARIABLES, os.environ, failure, lambda environment: bool(_tried(environment)[0]))
    install = "Install EGL with `sudo apt-get install libegl1 libgl1-mesa-dri`."
    raise RenderingUnavailable(f"{without}: {blame}" if blame else f"{without} ({failure}). {install}", blame)


def _tried(environment: Mapping[str, str], server: ForkServer | None = None) -> tuple[str, str]:
    """Return the first platform that works in an environment, or why none does."""
    wanted = environment.get("MUJOCO_GL", "").lower()
    candidates = (wanted,) if wanted in BACKENDS else BACKENDS
    findings = []
    for backend in candidates:
        variables = {**environment, "MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend}
        if server is not None:
            # A new interpreter reports the error.
            with contextlib.suppress(OSError, EOFError):
                fork = server.prepare("", "robocontrast_ros.system.opengl:try_platform", backend, environment=variables)
                return fork.result(PROBE_TIMEOUT), ""
        code = f"from robocontrast_ros.system.opengl import try_platform; try_platform('{backend}')"
        try:
            probe = subprocess.run(
                [sys.executable, "-c", code],
                env=variables,
                capture_output=True,
                text=True,
                timeout=PROBE_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            findings.append(f"{backend}: no answer in {PROBE_TIMEOUT:.0f} s")
            continue
        if probe.returncode == 0:
            return backend, ""
        last = probe.stderr.strip().splitlines()
        findings.append(f"{backend}: {last[-1] if last else f'ended with {probe.returncode}'}")
    return "", "; ".join(findings)


class Renderer:
    """Renders the cameras of a model in one OpenGL context.

    Shadows and multisampling cost 30 times the rest in software rendering (docs/simulator.md): images for policies are
    drawn without them, pictures for people are of fine quality. Use it from one thread, and close it.
    """

    def __init__(self, cameras: tuple[Camera, ...], fine: bool = False) -> None:
        """Open the context.

        Args:
            cameras: those to render.
            fine: whether to draw shadows and smooth edges.

        Raises:
            RenderingUnavailable: OpenGL does not work on this machine.
        """
        backend = working_backend()
        # PyOpenGL needs the same setting as MuJoCo.
        os.environ["PYOPENGL_PLATFORM"] = backend
        context_class: Any = importlib.import_module(f"mujoco.{backend}").GLContext
        self._fine = fine
        self._cameras = {camera.name: camera for camera in cameras}
        self._width = max(camera.width for camera in cameras)
        self._height = max(camera.height for camera in cameras)
        self._context = context_class(self._width, self._height)
        self._option = mujoco.MjvOption()
        self._model: mujoco.MjModel | None = None
        self._resources: mujoco.MjrContext | None = None
        self._scene: mujoco.MjvScene | None = None

    def render(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        name: str,
        index: int,
        begun: Callable[[], None] = lambda: None,
    ) -> NDArray[np.uint8]:
        """Return a camera's image, shape (height, width, 3), RGB, the first row at the top.

        Args:
            model: the model.
            data: its state.
            name: of the camera, as it was given at the start.
            index: of the camera in the model.
            begun: called when the state has been read and OpenGL draws, which does not need the interpreter.
        """
        self._context.make_current()
        if model is not self._model:
            self._load(model)
        camera = self._cameras[name]
        view = mujoco.MjvCamera()
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = index
        mujoco.mjv_updateScene(model, data, self._option, None, view, mujoco.mjtCatBit.mjCAT_ALL.value, self._scene)
        area = mujoco.MjrRect(0, 0, camera.width, camera.height)
        image = np.empty((camera.height, camera.width, 3), dtype=np.uint8)
        begun()
        mujoco.mjr_render(area, self._scene, self._resources)
        mujoco.mjr_readPixels(image, None, area, self._resources)
        return np.ascontiguousarray(image[::-1])

    def geometries(self, model: mujoco.MjModel, data: mujoco.MjData, name: str, index: int) -> NDArray[np.int32]:
        """Return the index of the geometry that each pixel of a camera shows, shape (height, width); -1 for none.

        The arguments are those of ``render``.
        """
        flags = mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR
        # The first image loads the model.
        self.render(model, data, name, index)
        for flag in flags:
            self._scene.flags[flag] = True
        try:
            coded = self.render(model, data, name, index).astype(np.int64)
        finally:
            for flag in flags:
                self._scene.flags[flag] = False
        number = coded[..., 0] + 256 * coded[..., 1] + 65536 * coded[..., 2]
        shown = np.full(self._scene.ngeom + 1, -1, dtype=np.int32)
        for geom in self._scene.geoms[: self._scene.ngeom]:
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                shown[geom.segid + 1] = geom.objid
        return shown[np.clip(number, 0, self._scene.ngeom)]

    @property
    def description(self) -> str:
        """The renderer of the images, from OpenGL: its name and version, with the driver's."""
        from OpenGL import GL

        self._context.make_current()
        return f"{GL.glGetString(GL.GL_RENDERER).decode()}, OpenGL {GL.glGetString(GL.GL_VERSION).decode()}"

    def close(self) -> None:
        """Free the context; the renderer cannot be used afterwards."""
        self._context.make_current()
        if self._resources is not None:
            self._resources.free()
        self._context.free()

    def _load(self, model: mujoco.MjModel) -> None:
        """Upload a model in place of the previous one; opening a new context takes 50 times as long."""
        if self._resources is not None:
            self._resources.free()
        model.vis.global_.offwidth, model.vis.global_.offheight = self._width, self._height
        model.vis.quality.offsamples = SAMPLES if self._fine else 0
        model.vis.quality.shadowsize = SHADOW if self._fine else 0
        self._model = model
        self._resources = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._resources)
        self._scene = mujoco.MjvScene(model, maxgeom=2000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self._fine
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
