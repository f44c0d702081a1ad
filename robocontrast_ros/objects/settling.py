"""Scenes at rest: physics, without a robot, moves placed objects until they stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain.geometry import Pose
from robocontrast_ros.domain.scene import ObjectState, Scene
from robocontrast_ros.objects.mjcf import FREE, object_spec
from robocontrast_ros.objects.model import ObjectModel

WORLD = "package://robocontrast_ros/models/tabletop.xml"
"""The world for settling scenes, because of its solver."""

PHYSICS = f"MuJoCo {mujoco.__version__}"
"""The physics engine; in another version objects may settle elsewhere."""

STILL = 0.002
"""Greatest speed of any point of an object at rest [m/s]."""

REST, LONGEST = 0.1, 2.0
"""Time for which everything has to be at rest, and longest wait for that [s]."""

DEEPEST = 0.002
"""Farther than this nothing at rest reaches into another thing or the floor [m]: weight alone presses it in by a tenth
of that. Things put into each other can be at rest, held there by forces that cancel out."""


@dataclass(frozen=True)
class Settled:
    """A scene after physics moved it to rest.

    Attributes:
        scene: the scene, each movable object at its place of rest.
        still: whether everything came to rest.
        duration: simulated time until then [s].
        overlap: how far a thing reaches into another one or the floor, at most [m].
        physics: the physics engine, with its version.
    """

    scene: Scene
    still: bool
    duration: float
    overlap: float = 0.0
    physics: str = PHYSICS


def settle(scene: Scene, library: Mapping[str, ObjectModel], world: str = WORLD) -> Settled:
    """Let a scene come to rest. The same scene gives the same poses to the last bit, on every machine.

    Args:
        scene: objects of the library, among them those that carry others.
        library: models by name.
        world: URI of the world, for its solver and floor.

    Raises:
        KeyError: the library has no such model.
    """
    model = compiled(scene, library, world)
    data = mujoco.MjData(model)
    movable = [item for item in scene if not library[item.model].fixed]
    if not movable:
        return Settled(scene, True, 0.0)
    joints = {item.name: f"{item.name}/{FREE}" for item in movable}
    for item in movable:
        x, y, z, w = item.pose.orientation
        data.joint(joints[item.name]).qpos = (*item.pose.position, w, x, y, z)
    reach = np.repeat([max(library[item.model].size) / 2.0 for item in movable], 3)
    order = np.concatenate([model.joint(joints[item.name]).dofadr[0] + np.arange(6) for item in movable])
    chunk = 10
    calm = steps = 0
    while calm * model.opt.timestep < REST and steps * model.opt.timestep < LONGEST:
        mujoco.mj_step(model, data, nstep=chunk)
        steps += chunk
        speeds = np.abs(data.qvel[order].reshape(-1, 6))
        fast = max(speeds[:, :3].max(), (speeds[:, 3:].ravel() * reach).max())
        calm = calm + chunk if fast < STILL else 0
    poses = {name: _pose(data.joint(joint).qpos.tolist()) for name, joint in joints.items()}
    objects = tuple(replace(item, pose=poses.get(item.name, item.pose)) for item in scene)
    still = calm * model.opt.timestep >= REST
    overlap = -min(data.contact.dist.tolist(), default=0.0)
    return Settled(replace(scene, objects=objects), still, steps * float(model.opt.timestep), max(0.0, overlap))


def compiled(scene: Scene, library: Mapping[str, ObjectModel], world: str, looks: bool = False) -> mujoco.MjModel:
    """Return the model of a world with a scene's objects; movable objects are at the origin until they are placed.

    Args:
        scene: objects of the library.
        library: models by name.
        world: URI of the world.
        looks: as in ``object_spec``.

    Raises:
        KeyError: the library has no such model.
    """
    spec = mujoco.MjSpec.from_file(str(resolve_uri(world)))
    parts = []  # a part must outlive the compilation of its parent
    for item in sorted(scene, key=_name):
        model = library[item.model]
        part = object_spec(model, looks)
        parts.append(part)
        body = part.worldbody.first_body()
        if model.fixed:
            x, y, z, w = item.pose.orientation
            body.pos, body.quat = item.pose.position, (w, x, y, z)
        spec.worldbody.add_frame().attach_body(body, f"{item.name}/", "")
    return spec.compile()


def _name(item: ObjectState) -> str:
    return item.name


def _pose(qpos: list[float]) -> Pose:
    x, y, z, qw, qx, qy, qz = qpos
    return Pose((x, y, z), (qx, qy, qz, qw))
