"""An object in MuJoCo: one body with its geoms, contact settings, textures and lamps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mujoco

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects.meshes import MJCF, mesh_geom, model_spec
from robocontrast_ros.objects.model import MovingPart, ObjectModel, Primitive
from robocontrast_ros.objects.shapes import volume
from robocontrast_ros.objects.textures import texture

GEOM = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
}

JOINT = {"slide": mujoco.mjtJoint.mjJNT_SLIDE, "hinge": mujoco.mjtJoint.mjJNT_HINGE}

FREE = "free"
"""Name of the joint of a movable object."""

FRICTION = (1.0, 0.005, 0.0001)
"""Sliding, torsional [m] and rolling [m] friction of objects with edges."""

ROLLING = 0.002
"""Rolling friction of round objects [m]: a real apple or banana is not smooth enough to roll away, an ideal one is."""

ROUND = ("sphere", "ellipsoid", "capsule", "cylinder")

SOLREF = (0.004, 1.0)
SOLIMP = (0.95, 0.99, 0.001, 0.5, 2.0)


def object_spec(model: ObjectModel, looks: bool = True) -> mujoco.MjSpec:
    """Return an object as a model with one top-level body, named as the object, at the origin.

    A fixed object is a mocap body: it can be put elsewhere, and physics never moves it.

    Args:
        model: the object.
        looks: False leaves out textures and lamps; the physics is the same.
    """
    if model.mesh is not None and model.mesh.suffix.lower() in MJCF:
        return model_spec(model.mesh, model.model)
    spec = mujoco.MjSpec()
    spec.modelname = model.model
    body = spec.worldbody.add_body(name=model.model, mocap=model.fixed)
    if not model.fixed:
        body.add_freejoint(name=FREE)
    if model.mesh is not None:
        geom = mesh_geom(spec, body, model.mesh, model.origin, model.mass)
        geom.rgba = (*model.paint.colour, model.paint.opacity)
        set_contact(geom, is_round=True)
    materials: dict[tuple, str] = {}
    _add_geoms(spec, body, model.parts, model.mass, looks, materials)
    for moving in model.joints:
        _add_moving(spec, body, moving, looks, materials)
    # Between drawers and their case there is less room than the solver's margins take.
    together = [body.name, *(moving.name for moving in model.joints)]
    for one, other in itertools.combinations(together, 2):
        spec.add_exclude(bodyname1=one, bodyname2=other)
    if looks:
        _add_lights(body, model)
    return spec


def _add_geoms(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    parts: Sequence[Primitive],
    mass: float,
    looks: bool,
    materials: dict[tuple, str],
) -> None:
    """Add geoms to a body, which share its mass [kg] by their weights; 0 for a body without mass."""
    total = sum(part.weight * volume(part.type, part.size) for part in parts)
    for part in parts:
        share = part.weight * volume(part.type, part.size) / total if mass else 0.0
        geom = body.add_geom(
            type=GEOM[part.type], size=part.size, pos=part.pose.position, quat=_wxyz(part.pose), mass=mass * share
        )
        set_contact(geom, part.type in ROUND, part.collides)
        if looks:
            geom.material = _material(spec, part, materials)
        else:
            geom.rgba = (*part.paint.colour, part.paint.opacity)


def _add_moving(
    spec: mujoco.MjSpec, whole: mujoco.MjsBody, moving: MovingPart, looks: bool, materials: dict[tuple, str]
) -> None:
    """Add a moving part to an object's body, as a body of its own with the part's joint."""
    joint = moving.joint
    body = whole.add_body(name=moving.name, pos=joint.home.position, quat=_wxyz(joint.home))
    body.add_joint(
        name=moving.name,
        type=JOINT[joint.type],
        axis=joint.axis,
        pos=[at - home for at, home in zip(joint.through, joint.home.position, strict=True)],
        # The compiler takes angles in degrees, as the file of the object does.
        range=[math.degrees(bound) if joint.type == "hinge" else bound for bound in joint.range],
        limited=True,
        damping=moving.damping,
        frictionloss=moving.friction,
        armature=moving.armature,
    )
    _add_geoms(spec, body, moving.parts, moving.mass, looks, materials)


def set_contact(geom: mujoco.MjsGeom, is_round: bool, collides: bool = True) -> None:
    """Give a geom the contact settings of objects (facts in docs/tabletop.md)."""
    geom.condim = 6 if is_round else 4
    geom.friction = (FRICTION[0], FRICTION[1], ROLLING if is_round else FRICTION[2])
    geom.solref, geom.solimp = SOLREF, SOLIMP
    if not collides:
        geom.contype = geom.conaffinity = 0


def _material(spec: mujoco.MjSpec, part: Primitive, known: dict[tuple, str]) -> str:
    """Return the name of the material of a part, and make it if it is new."""
    drawn = texture(part.type, part.size, part.paint)
    key = (part.paint, (part.type, part.size) if drawn else None)
    if key in known:
        return known[key]
    name = known[key] = f"paint{len(known)}"
    paint = part.paint
    rgba = (1.0, 1.0, 1.0, paint.opacity) if drawn else (*paint.colour, paint.opacity)
    material = spec.add_material(name=name, rgba=rgba)
    material.specular, material.shininess = 0.05 + 0.6 * paint.shine, 0.1 + 0.8 * paint.shine
    if drawn is not None:
        edge, content = drawn
        made = spec.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_CUBE, width=edge, height=6 * edge, nchannel=3
        )
        made.data = content
        textures = list(material.textures)
        textures[mujoco.mjtTextureRole.mjTEXROLE_RGB.value] = name
        material.textures = textures
    return name


def _add_lights(body: mujoco.MjsBody, model: ObjectModel) -> None:
    for index, light in enumerate(model.lights):
        away = [to - at for to, at in zip(light.towards, light.at, strict=True)]
        length = math.sqrt(sum(part * part for part in away))
        body.add_light(
            name=f"lamp{index}",
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL if light.far else mujoco.mjtLightType.mjLIGHT_SPOT,
            pos=light.at,
            dir=[part / length for part in away],
            diffuse=light.colour,
            ambient=light.ambient,
            specular=[0.4 * part for part in light.colour],
            castshadow=light.shadow,
            cutoff=70.0,
            exponent=2.0,
        )


def _wxyz(pose: Pose) -> tuple[float, float, float, float]:
    x, y, z, w = pose.orientation
    return w, x, y, z
