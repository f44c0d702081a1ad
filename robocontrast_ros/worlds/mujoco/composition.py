"""Composition of a world model, a robot and spawned objects into one MuJoCo model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.domain import PART, Pose
from robocontrast_ros.objects import ObjectModel, model_of_uri
from robocontrast_ros.objects.mjcf import object_spec as spec_of_model
from robocontrast_ros.perception import ObjectTag
from robocontrast_ros.perception.plates import add_plates
from robocontrast_ros.robots.mjcf import BASE_BODY
from robocontrast_ros.worlds.mujoco.entities import InvalidModel, ResourceNotFound

ONE_WAY = ([mujoco.mjtJoint.mjJNT_SLIDE], [mujoco.mjtJoint.mjJNT_HINGE])
"""Joints of a body that is an entity of its own: a part of an object with one degree of freedom."""

OBJECT_FILES = (".yaml", ".yml")
"""Suffixes of the files of a library's objects; all others are MJCF."""


@dataclass(frozen=True)
class Spawned:
    """A spawned object.

    Attributes:
        name: name of the entity.
        source: URI or path of its model; empty for a model that was given as a string.
        xml: its MJCF document; empty for an object of the library.
        folder: folder that relative names of assets start from.
        initial: the pose at which it was spawned.
        model: the object of the library, or None.
    """

    name: str
    source: str
    xml: str
    folder: Path | None
    initial: Pose
    model: ObjectModel | None = None

    @property
    def origin(self) -> str:
        """Source of the model, for messages."""
        return self.source or f"resource string of '{self.name}'"


def read_resource(path: Path) -> str:
    """Return the text of a model file.

    Raises:
        ResourceNotFound: the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ResourceNotFound(f"{path}: {reason}; expected a readable MJCF file") from None


def read_object(name: str, uri: str, resource: str, initial: Pose) -> Spawned:
    """Return an object to spawn.

    Args:
        name: name of the entity.
        uri: an MJCF file, or ``FILE.yaml#VARIANT`` for an object of a library.
        resource: the MJCF document itself, instead of a URI.
        initial: pose at which it is spawned.

    Raises:
        ResourceNotFound: the file cannot be read.
        InvalidModel: the file of an object does not fit, or has no such variant.
    """
    if resource:
        return Spawned(name, "", resource, None, initial)
    file = uri.partition("#")[0]
    path = resolve_uri(file)
    text = read_resource(path)
    if path.suffix in OBJECT_FILES:
        try:
            return Spawned(name, uri, "", None, initial, model_of_uri(uri))
        except ConfigurationError as error:
            raise InvalidModel(str(error)) from None
    return Spawned(name, uri, text, path.parent, initial)


def object_spec(entity: Spawned, looks: bool = True) -> mujoco.MjSpec:
    """Return the parsed model of an object.

    Args:
        entity: the object.
        looks: False leaves out the looks of an object of the library, whose textures take long; the physics is the
            same.

    Raises:
        InvalidModel: it is no MJCF model with one top-level body.
    """
    if entity.model is not None:
        return spec_of_model(entity.model, looks)
    try:
        spec = mujoco.MjSpec.from_string(entity.xml)
        if entity.folder is not None:
            spec.modelfiledir = str(entity.folder)
    except ValueError as error:
        raise InvalidModel(f"{entity.origin}: {_first_line(error)}; expected an MJCF model") from None
    bodies = [body for body in spec.bodies if body.parent == spec.worldbody]
    if len(bodies) != 1:
        raise InvalidModel(f"{entity.origin}: got {len(bodies)} top-level bodies, expected one")
    return spec


def moves_freely(uri: str) -> bool:
    """Return whether physics moves an object as a whole.

    Raises:
        ResourceNotFound: the file cannot be read.
        InvalidModel: it is no model of an object.
    """
    joints = object_spec(read_object("object", uri, "", Pose()), looks=False).joints
    return any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in joints)


def check_object(entity: Spawned) -> None:
    """Compile an object alone, so that its mistakes are not taken for those of another part.

    Raises:
        InvalidModel: it is no MJCF model with one top-level body.
    """
    try:
        object_spec(entity, looks=False).compile()
    except ValueError as error:
        raise InvalidModel(f"{entity.origin}: {_first_line(error)}; expected an MJCF model") from None


def compose(
    world: Path,
    robot: str,
    mjcf: str,
    objects: Iterable[Spawned],
    looks: bool = True,
    tags: Mapping[str, Sequence[ObjectTag]] | None = None,
) -> tuple[mujoco.MjModel, dict[str, str]]:
    """Return the world with its robot and objects, in the order given, and each entity's body by name.

    An entity is the robot, a top-level body, an object, or a part of an object on a slide or a hinge, ``OBJECT/PART``.

    Args:
        world: the world's MJCF file.
        robot: the robot's name.
        mjcf: the robot's model.
        objects: the spawned objects.
        looks: as in ``object_spec``.
        tags: object's name or model, or ``OBJECT/PART`` -> tags on it, which are only seen.

    Raises:
        InvalidModel: a part is no MJCF model, or they do not fit together.
    """
    try:
        spec = mujoco.MjSpec.from_file(str(world))
        furniture = [body.name for body in spec.bodies if body.parent == spec.worldbody and body.name]
        prefix = robot_prefix(robot)
        embodiment = mujoco.MjSpec.from_string(mjcf)
        spec.worldbody.add_frame().attach_body(embodiment.body(BASE_BODY), prefix, "")
        roots = {robot: prefix + BASE_BODY} | {name: name for name in furniture}
        parts = []  # a part must outlive the compilation of the model to which it is attached
        for entity in objects:
            part = object_spec(entity, looks)
            parts.append(part)
            body = part.worldbody.first_body()
            if looks and tags:
                _add_tags(part, body, entity, tags)
            x, y, z, w = entity.initial.orientation
            body.name = body.name or entity.name
            # The compiler derives the solver's constants from the poses of bodies. A movable body is put to its pose
            # afterwards, so that the physics does not depend, in the last bits, on the pose at which it was spawned.
            if not (body.mocap or any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints)):
                body.pos, body.quat = entity.initial.position, (w, x, y, z)
            roots[entity.name] = f"{entity.name}{PART}{body.name}"
            for moving in part.bodies:
                if moving.name and moving.name != body.name and [joint.type for joint in moving.joints] in ONE_WAY:
                    roots[f"{entity.name}{PART}{moving.name}"] = f"{entity.name}{PART}{moving.name}"
            spec.worldbody.add_frame().attach_body(body, f"{entity.name}{PART}", "")
        return spec.compile(), roots
    except ValueError as error:
        raise InvalidModel(f"{world}: {_first_line(error)}") from None


def _add_tags(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, entity: Spawned, tags: Mapping[str, Sequence[ObjectTag]]
) -> None:
    """Fix the tags of an object to its body, and those of its moving parts to theirs."""
    model = entity.name if entity.model is None else entity.model.model
    for each in [body, *body.find_all("body")]:
        part = "" if each is body else f"{PART}{each.name}"
        add_plates(spec, each, tags.get(f"{entity.name}{part}") or tags.get(f"{model}{part}") or ())


def robot_prefix(robot: str) -> str:
    """Return the prefix of the robot's own bodies, joints, sites and cameras in the model."""
    return f"{robot}/"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
