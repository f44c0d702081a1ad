"""A world with a robot and many things, compiled once, that is drawn without physics; a scene shows some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.policies.tabletop_bc.cameras import HEIGHT, WIDTH, View
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.base import ModelScenes
from robocontrast_ros.worlds.mujoco.arm import Arm
from robocontrast_ros.worlds.mujoco.bodies import Bodies
from robocontrast_ros.worlds.mujoco.cameras import Cameras
from robocontrast_ros.worlds.mujoco.composition import Spawned, compose, robot_prefix
from robocontrast_ros.worlds.mujoco.entities import EntityState

HIDDEN = 5
"""Group of geoms that MuJoCo does not draw unless asked to."""


class Studio:
    """A table with one robot and things, of which a scene shows some. Use it from one thread."""

    def __init__(self, scenes: ModelScenes, robot: str, things: Mapping[str, ObjectModel], views: Sequence[View]):
        """Compile the world, which takes half a minute: most of it draws the things' textures.

        Args:
            scenes: of the task.
            robot: name of its profile.
            things: name -> model of each thing.
            views: the cameras.
        """
        profile = load_profile(robot)
        self._profile, self._views = profile, tuple(views)
        self._kinematics = Kinematics(profile)
        arm = Arm(profile, scenes.start_position)
        spawned = [Spawned(name, model.uri, "", None, Pose(), model) for name, model in sorted(things.items())]
        world = resolve_uri(scenes.world)
        model, roots = compose(world, profile.name, arm.mjcf(), spawned)
        self._bodies = Bodies(model, roots)
        prefix = robot_prefix(profile.name)
        arm.bind(model, self._bodies.data, prefix)
        self._start = self._kinematics.posture(scenes.start_position)
        self._arm = [model.joint(prefix + name).qposadr[0] for name in profile.joint_names]
        self._fingers = [model.joint(prefix + joint.name).qposadr[0] for joint in profile.end_effector.joints]
        self._cameras = Cameras([Camera(view.name, WIDTH, HEIGHT) for view in views], prefix, str(world))
        self._cameras.bind(self._bodies)
        owner = model.body_rootid[model.geom_bodyid]
        self._geoms = {name: np.flatnonzero(owner == self._bodies.body(name)) for name in things}
        self._group = model.geom_group.copy()

    def close(self) -> None:
        """Free the renderer."""
        self._cameras.close()

    def image(
        self, scene: Scene, posture: tuple[float, ...] | None = None, width: float | None = None
    ) -> tuple[NDArray[np.uint8], ...]:
        """Return the windows of the views on a scene.

        Args:
            scene: some of the things, by their names; parts follow what they are parts of.
            posture: of the arm's joints [rad]; None for its start.
            width: between the finger tips [m]; None for wide open.
        """
        bodies, hand = self._bodies, self._profile.end_effector
        shown = {item.name: item for item in scene}
        for name, geoms in self._geoms.items():
            bodies.model.geom_group[geoms] = self._group[geoms] if name in shown else HIDDEN
        for name, item in shown.items():
            bodies.put(name, EntityState(item.pose))
        bodies.data.qpos[self._arm] = self._start if posture is None else posture
        bodies.data.qpos[self._fingers] = hand.positions(hand.greatest_width if width is None else width)
        mujoco.mj_kinematics(bodies.model, bodies.data)
        mujoco.mj_camlight(bodies.model, bodies.data)
        return tuple(view.cut(self._cameras.render(view.name)) for view in self._views)
