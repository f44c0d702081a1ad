"""Tags on objects of the simulation: thin plates that are seen, without mass and without contact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import cv2
import mujoco
import numpy as np
import shapely
from numpy.typing import NDArray

from robocontrast_ros.domain import PART
from robocontrast_ros.domain.geometry import Quaternion, Vector3
from robocontrast_ros.images.tag_families import USUAL, dictionary, in_words, last_number, modules
from robocontrast_ros.objects import MovingPart, ObjectModel
from robocontrast_ros.perception.part_tags import places_on
from robocontrast_ros.perception.tags import ObjectTag, Support

THICK = 0.0005
"""Half the thickness of a plate [m]."""
GAP = 0.004
"""Gap between an object and a plate beside it [m]."""
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))
"""Angle between the cards of one object and of the next [rad]: few of its multiples are near each other."""
LARGER = 1.5, 1.25, 1.0
"""Sizes of tags on fronts, as multiples of those on objects; the first that has room is taken."""
FINE = 16
"""Pixels of a module in the texture."""


def picture(tag: ObjectTag, pixels: int = FINE) -> NDArray[np.uint8]:
    """Return a tag with its white border, which is one module wide, grey, shape (n, n).

    Args:
        tag: the tag.
        pixels: pixels along each side of a module.
    """
    black = cv2.aruco.generateImageMarker(dictionary(tag.family), tag.number, modules(tag.family) * pixels)
    return np.pad(black, pixels, constant_values=255)


def with_border(tag: ObjectTag) -> float:
    """Return the side of a tag with its white border [m]."""
    return _with_border(tag.size, tag.family)


def _with_border(size: float, family: str) -> float:
    return size * (modules(family) + 2) / modules(family)


def add_plates(spec: mujoco.MjSpec, body: mujoco.MjsBody, tags: Iterable[ObjectTag]) -> None:
    """Add a plate for each tag to a body; the physics stays the same.

    Args:
        spec: the model of the body.
        body: the body; its frame is the object's.
        tags: the tags on it.
    """
    for tag in tags:
        name = f"tag{tag.number}"
        grey = picture(tag)
        edge = grey.shape[0]
        white = np.full((edge, edge), 255, np.uint8)
        # Faces in MuJoCo's order: right, left, up, down, front, back; a box's +z face is the fifth.
        faces = np.concatenate([white, white, white, white, grey, white])
        texture = spec.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_CUBE, width=edge, height=6 * edge, nchannel=3
        )
        texture.data = np.repeat(faces[..., None], 3, axis=2).tobytes()
        material = spec.add_material(name=name, rgba=(1.0, 1.0, 1.0, 1.0))
        material.specular = 0.0
        textures = list(material.textures)
        textures[mujoco.mjtTextureRole.mjTEXROLE_RGB.value] = name
        material.textures = textures
        half = with_border(tag) / 2.0
        x, y, z, w = tag.orientation
        # The tag is on the plate's upper face.
        normal = np.array((2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)))
        body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(half, half, THICK),
            pos=np.asarray(tag.position) - THICK * normal,
            quat=(w, x, y, z),
            mass=0.0,
            contype=0,
            conaffinity=0,
            material=name,
        )


def tags_for(
    models: Iterable[ObjectModel], size: float = 0.04, first: int = 100, family: str = USUAL
) -> dict[str, tuple[ObjectTag, ...]]:
    """Return tags for objects of a library, numbered in their order: model -> tags.

    An object that carries no other has one on top. An object with a top or a cavity, which the other object would
    cover, has cards that reach out from under it, and one on top unless it is hollow there. Drawers and doors,
    ``OBJECT/PART``, have them on their fronts, with numbers after those of all objects.

    Args:
        models: the objects; fixtures get none but on their parts.
        size: side of the black square [m].
        first: number of the first tag; a lower one if the family has too few numbers after it.
        family: family of the tags.

    Raises:
        ValueError: there are more tags than the family has numbers.
    """
    width, last = _with_border(size, family), last_number(family)
    models = tuple(models)
    level = (0.0, 0.0, 0.0, 1.0)
    places = {
        m.model: [(size, at, level) for at in _places(m, width, index)] for index, m in enumerate(models) if not m.fixed
    }
    for model in models:
        for part in model.joints:
            if on_front := _on_front(part, size, family):
                places[f"{model.model}{PART}{part.name}"] = on_front
    number = last + 1 - sum(map(len, places.values()))
    if number < 0:
        raise ValueError(f"the objects need {last + 1 - number} tags, and {in_words(family)} has {last + 1}")
    number, found = min(first, number), dict[str, tuple[ObjectTag, ...]]()
    for model, own in places.items():
        found[model] = tuple(
            ObjectTag(number=number + k, size=side, position=at, orientation=turn, family=family)
            for k, (side, at, turn) in enumerate(own)
        )
        number += len(own)
    return found


def _on_front(part: MovingPart, size: float, family: str) -> list[tuple[float, Vector3, Quaternion]]:
    """Return size, position and orientation of the tags on a part: the largest that have room, for it is seen askew."""
    for side in (round(size * share, 4) for share in LARGER):
        if places := places_on(part, _with_border(side, family)):
            return [(side, *place) for place in places]
    return []


def _places(model: ObjectModel, width: float, index: int) -> Sequence[tuple[float, float, float]]:
    top = [(0.0, 0.0, model.size[2] + 2.0 * THICK)] if model.cavity is None else []
    if model.top is None and model.cavity is None:
        return top
    half = width / math.sqrt(2.0)
    feet = 2 if top else 3
    # Objects on each other have their cards in different directions.
    angles = [index * GOLDEN + math.tau * k / feet for k in range(feet)]
    reach = max(math.hypot(*corner) for corner in model.footprint)
    area = shapely.Polygon(model.footprint)
    places = []
    for angle in angles:
        c, s = math.cos(angle), math.sin(angle)
        edge = shapely.LineString([(0.0, 0.0), (2.0 * reach * c, 2.0 * reach * s)]).intersection(area).length
        far = edge + GAP + half
        places.append((far * c, far * s, 4.0 * THICK))
    return [*top, *places]


def supports(models: Iterable[ObjectModel]) -> dict[str, tuple[Support, ...]]:
    """Return the places for something else on each object or in it: model -> supports."""
    found = {}
    for model in models:
        places = [(model.top.polygon, model.top.z)] if model.top is not None else []
        places += [(model.cavity.polygon, model.cavity.floor)] if model.cavity is not None else []
        found[model.model] = tuple(Support(height, tuple(polygon)) for polygon, height in places)
    return found
