"""Portraits: a picture of one object alone, as an instruction shows its referent."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.images.rendering import Camera, Renderer

SUPERSAMPLING = 4
"""Rendered pixels along each side of a pixel."""

BACKGROUND = (0.5, 0.5, 0.5)
"""Colour around the object, RGB, 0 to 1."""

ELEVATION, AZIMUTH, FIELD_OF_VIEW = math.radians(50.0), math.radians(180.0), math.radians(30.0)
"""Direction of the camera from the object: above the horizon, and around z from x [rad]; and its angle of view."""

MARGIN = 1.05
"""Radius of the camera's field in units of the radius of the object's bounding sphere."""

VISIBLE_GROUPS = 3
"""Groups of geometries that are drawn: those below this number."""

_VIEW = "portrait"


def portrait(spec: mujoco.MjSpec, yaw: float = 0.0, size: int = 32) -> NDArray[np.uint8]:
    """Return a picture of a spec's bodies alone, shape (size, size, 3), RGB, the first row at the top.

    The camera looks obliquely down at the middle of the visible geometries, as near as their bounding sphere allows.
    Background and light do not depend on the spec. One machine gives the same picture each time.

    Args:
        spec: the bodies in their initial pose; it is not changed.
        yaw: their turn around z, counter-clockwise from above [rad].
        size: of the picture [pixel].

    Raises:
        RenderingUnavailable: OpenGL does not work on this machine.
        ValueError: the spec has no visible geometry of finite size.
    """
    model = _portrait_scene(spec).compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    # Camera and light turn around the bodies the other way, so that each yaw has the same bounding sphere.
    centre, radius = _bounding_sphere(model, data)
    around = AZIMUTH - yaw
    cosine, sine = math.cos(around), math.sin(around)
    high, low = math.sin(ELEVATION), math.cos(ELEVATION)
    backward = np.array([low * cosine, low * sine, high])
    right = np.array([-sine, cosine, 0.0])
    up = np.array([-high * cosine, -high * sine, low])
    distance = MARGIN * radius / math.sin(FIELD_OF_VIEW / 2.0)
    camera, light = model.camera(_VIEW).id, model.light(_VIEW).id
    model.cam_pos[camera] = centre + distance * backward
    model.cam_fovy[camera] = math.degrees(FIELD_OF_VIEW)
    mujoco.mju_mat2Quat(model.cam_quat[camera], np.stack([right, up, backward], axis=1).ravel())
    towards = -(backward + 0.6 * right + 0.6 * up)
    model.light_pos[light], model.light_dir[light] = centre - towards, towards / np.sqrt(np.sum(towards**2))
    model.vis.map.znear, model.vis.map.zfar = 0.1 * distance / model.stat.extent, 4.0 * distance / model.stat.extent
    mujoco.mj_camlight(model, data)
    large = SUPERSAMPLING * size
    renderer = Renderer((Camera(_VIEW, large, large),))
    try:
        image = renderer.render(model, data, _VIEW, camera)
    finally:
        renderer.close()
    # Whole numbers: the mean is rounded alike everywhere.
    total = image.reshape(size, SUPERSAMPLING, size, SUPERSAMPLING, 3).astype(np.int64).sum(axis=(1, 3))
    return ((2 * total + SUPERSAMPLING**2) // (2 * SUPERSAMPLING**2)).astype(np.uint8)


def _portrait_scene(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """Return a copy with background, light and camera of its own, and no other."""
    scene = spec.copy()
    skies = [texture for texture in scene.textures if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX]
    for element in (*scene.lights, *scene.cameras, *skies):
        scene.delete(element)
    scene.add_texture(
        name=_VIEW,
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=BACKGROUND,
        rgb2=BACKGROUND,
        width=8,
        height=48,
    )
    headlight = scene.visual.headlight
    headlight.active = 1
    headlight.ambient, headlight.diffuse, headlight.specular = [0.45] * 3, [0.2] * 3, [0.0] * 3
    scene.worldbody.add_light(
        name=_VIEW,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=False,
        ambient=[0.0] * 3,
        diffuse=[0.5] * 3,
        specular=[0.1] * 3,
    )
    scene.worldbody.add_camera(name=_VIEW)
    return scene


def _bounding_sphere(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[NDArray[np.float64], float]:
    """Return centre, shape (3,), and radius of a sphere around the visible geometries [m]."""
    visible = (model.geom_group < VISIBLE_GROUPS) & (model.geom_rgba[:, 3] > 0.0) & (model.geom_rbound > 0.0)
    if not visible.any():
        raise ValueError("expected a visible geometry of finite size, found none")
    signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
    corners = []
    for geom in np.flatnonzero(visible):
        own = model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:]
        turn = data.geom_xmat[geom].reshape(3, 3)
        corners.append(data.geom_xpos[geom] + np.sum(own[:, None, :] * turn[None], axis=2))
    points = np.concatenate(corners)
    centre = (points.min(axis=0) + points.max(axis=0)) / 2.0
    return centre, float(np.sqrt(np.sum((points - centre) ** 2, axis=1).max()))
