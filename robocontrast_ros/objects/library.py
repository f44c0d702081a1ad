"""The objects for scenes, from their YAML files."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, load_record, resolve_uri
from robocontrast_ros.configuration.loading import PACKAGE_SCHEME
from robocontrast_ros.domain import PART, whole_of
from robocontrast_ros.domain.geometry import Pose, Vector3
from robocontrast_ros.objects import shapes
from robocontrast_ros.objects.frames import about, rotate
from robocontrast_ros.objects.joints import Joint, JointState
from robocontrast_ros.objects.meshes import MJCF, OFF, corners_of
from robocontrast_ros.objects.model import (
    FINGER_BEYOND,
    Cavity,
    Grasp,
    MovingPart,
    ObjectModel,
    Polygon,
    Primitive,
    Top,
)
from robocontrast_ros.objects.schema import (
    PLAIN,
    CavityRegion,
    GraspEntry,
    ObjectFile,
    Paint,
    PaintChange,
    Part,
    StateEntry,
    TopRegion,
)

BODY = "body"
"""The paint of a mesh."""

SHIPPED = PACKAGE_SCHEME + "config/objects"
"""The folder of this package's own objects; the folders in it hold objects that only some tasks use."""


def load_library(places: Iterable[str | Path] = (SHIPPED,)) -> dict[str, ObjectModel]:
    """Return all objects of folders and files, by the names of their models.

    Args:
        places: folders of ``.yaml`` files, or such files, as paths or package URIs.

    Returns:
        The models in the order of the places, of the files' names in a folder, and of the variants in a file.

    Raises:
        ConfigurationError: a place or a file does not exist or does not fit, or two objects have one name.
    """
    library: dict[str, ObjectModel] = {}
    for place in places:
        for uri, path in _files(str(place)):
            for model in load_object(path, uri):
                if model.model in library:
                    other = library[model.model].uri
                    raise ConfigurationError(
                        str(path), "variants", model.model, "a name that no other object has", f"{other} has it."
                    )
                library[model.model] = model
    return library


def find_model(library: Mapping[str, ObjectModel], name: str, source: str, key: str) -> ObjectModel:
    """Return an object by the name of its model; ``source`` and ``key`` name its place, for the error.

    Raises:
        ConfigurationError: there is none with this name.
    """
    if name not in library:
        raise ConfigurationError.unknown(source, key, name, library, "object")
    return library[name]


def model_of_uri(uri: str) -> ObjectModel:
    """Return the object that ``FILE.yaml#VARIANT`` names.

    Raises:
        ConfigurationError: the file does not exist or does not fit, or it has no such variant.
    """
    file, _, variant = uri.partition("#")
    models = {model.uri.partition("#")[2]: model for model in load_object(resolve_uri(file), file)}
    if variant not in models:
        raise ConfigurationError.unknown(file, "variants", variant, models, "variant")
    return models[variant]


def library_of(uris: Iterable[str]) -> dict[str, ObjectModel]:
    """Return the objects of a library among spawnable resources, by model, in the order of the names."""
    models = (model_of_uri(uri) for uri in uris if ".yaml" in uri and not _of_part(uri))
    return {model.model: model for model in sorted(models, key=lambda model: model.model)}


BACKGROUND = ("table", "background", "light")
"""Categories of what a scene stands in: it is in its place in every scene. Other fixed models are carried by people."""


def fixed_models(uris: Iterable[str]) -> frozenset[str]:
    """Return the models among spawnable resources that nobody carries: tables, backgrounds, lights."""
    models = library_of(uris).items()
    return frozenset(name for name, model in models if model.fixed and model.category in BACKGROUND)


def with_parts(models: Iterable[ObjectModel]) -> dict[str, str]:
    """Return model -> URI of objects, each followed by its moving parts, whose URIs are ``FILE.yaml#VARIANT/PART``."""
    return {
        name: uri
        for model in models
        for name, uri in (
            (model.model, model.uri),
            *((f"{model.model}{PART}{part.name}", f"{model.uri}{PART}{part.name}") for part in model.joints),
        )
    }


def _of_part(uri: str) -> bool:
    """Return whether a URI is that of a moving part."""
    return bool(whole_of(uri.partition("#")[2]))


def moving_parts(uris: Iterable[str]) -> dict[str, MovingPart]:
    """Return the moving parts of the objects among spawnable resources, by the models of the parts."""
    models = library_of(uris).values()
    return {f"{model.model}{PART}{part.name}": part for model in models for part in model.joints}


def load_object(path: Path, uri: str = "") -> tuple[ObjectModel, ...]:
    """Return the variants of a file.

    Args:
        path: the file.
        uri: its URI; the path if empty.

    Raises:
        ConfigurationError: it cannot be read, or does not fit.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        changed = 0  # reading it raises the error
    return _load(path, uri or str(path), changed)


def _files(place: str) -> list[tuple[str, Path]]:
    """Return the files of a place, each with its URI."""
    path = resolve_uri(place)
    if not path.is_dir():
        return [(place, path)]
    files = sorted(path.glob("*.yaml"))
    if not files:
        raise ConfigurationError(place, "", "no .yaml file", "a folder of objects", "Check the path.")
    return [(f"{place.rstrip('/')}/{file.name}", file) for file in files]


@functools.lru_cache(maxsize=1024)
def _load(path: Path, uri: str, changed: int) -> tuple[ObjectModel, ...]:
    """Return the variants of a file as it was at a time."""
    file = load_record(ObjectFile, path)
    source = str(path)
    _check(file, source)
    base = _of_mesh(file, path, source) if file.mesh else _of_parts(file, path.stem, source)
    models = tuple(_variant(file, base, name, uri, source) for name in file.variants)
    if path.is_relative_to(resolve_uri(SHIPPED)):
        return models  # tried by the tests of this package
    # All variants have one shape. This check drops the object in MuJoCo, which takes long to import.
    from robocontrast_ros.objects.validation import check_object

    grasps = check_object(models[0], source).grasps
    return tuple(replace(model, grasps=grasps) for model in models)


def _check(file: ObjectFile, source: str) -> None:
    """Refuse errors that no single key shows.

    Raises:
        ConfigurationError: keys that do not go together.
    """
    if file.joints and not file.fixed:
        raise ConfigurationError(
            source,
            "joints",
            list(file.joints),
            "`fixed: true` for an object with moving parts",
            "Set it, or drop them.",
        )
    if file.fixed:
        if file.mass or file.grasps:
            raise ConfigurationError(source, "fixed", True, "neither mass nor grasps for a fixed object")
        return
    if file.lights:
        raise ConfigurationError(source, "lights", "lamps", "`fixed: true` for an object with lamps")
    if not file.mass:
        raise ConfigurationError(source, "mass", file.mass, "a mass above 0 kg", "Weigh it, or set `fixed: true`.")
    if not file.grasps:
        cure = "Add a grasp by which a hand can hold it."
        raise ConfigurationError(source, "grasps", "nothing", "one grasp or more", cure)


def _of_parts(file: ObjectFile, type_: str, source: str) -> ObjectModel:
    """Return the object of a file, without the paints of a variant."""
    if not file.parts and not file.lights and not any(variant.lights for variant in file.variants.values()):
        raise ConfigurationError(source, "parts", "nothing", "one part or more")
    parts = _primitives(file, file.parts, "parts", source)
    boxes = [shapes.bounds(part.type, part.pose, part.size) for part in parts] or [((0.0,) * 3,) * 2]
    lower, upper = shapes.around(boxes)
    # The frame of a fixed object is that of its file: a table's top is at z = 0.
    origin = (0.0, 0.0, 0.0) if file.fixed else _on_ground(lower, upper)
    parts = _shifted(parts, origin)
    touched = [part for part in parts if part.collides]
    if file.parts and not file.fixed and not touched:
        raise ConfigurationError(source, "parts", "nothing that collides", "a part that can be touched")
    joints = tuple(_moving_part(file, name, source) for name in file.joints)
    shape: dict[str, Any] = {"parts": tuple(parts), "lights": file.lights, "joints": joints}
    return _object(file, type_, _minus(upper, lower), _footprint(touched), origin, source, **shape)


def _primitives(file: ObjectFile, parts: Iterable[Part], key: str, source: str) -> list[Primitive]:
    """Return the geoms of parts, in the frame of the file; ``key`` holds them.

    Raises:
        ConfigurationError: a part has a paint that the file lacks.
    """
    made: list[Primitive] = []
    for index, part in enumerate(parts):
        if part.paint not in file.paints:
            raise ConfigurationError.unknown(source, f"{key}.{index}.paint", part.paint, file.paints, "paint")
        paint = file.paints[part.paint]
        made += [Primitive(*geom, paint, part.weight, part.collides) for geom in shapes.geoms(part)]
    return made


def _shifted(parts: Iterable[Primitive], origin: Vector3) -> list[Primitive]:
    """Return geoms in a frame whose origin is at ``origin`` [m]."""
    return [replace(part, pose=Pose(_minus(part.pose.position, origin), part.pose.orientation)) for part in parts]


def _footprint(parts: Iterable[Primitive]) -> Polygon:
    return shapes.hull(point for part in parts for point in shapes.shadow(part.type, part.pose, part.size))


def _moving_part(file: ObjectFile, name: str, source: str) -> MovingPart:
    """Return a moving part of a fixed object, whose frame is that of its file."""
    entry, called = file.joints[name], name.replace("_", " ")
    parts = _shifted(_primitives(file, entry.parts, f"joints.{name}.parts", source), entry.at)
    unit = math.radians(1.0) if entry.type == "hinge" else 1.0
    states = tuple(
        JointState(word, *(given if bound is None else bound * unit for bound, given in _bounds(state)))
        for word, state in entry.states.items()
    )
    joint = Joint(
        type=entry.type,
        axis=_unit(entry.axis),
        home=Pose(entry.at),
        through=entry.through or entry.at,
        range=(entry.range[0] * unit, entry.range[1] * unit),
        states=states,
    )
    return MovingPart(
        name=name,
        nouns=entry.nouns or (called, f"{called} of the {file.nouns[0]}"),
        joint=joint,
        parts=tuple(parts),
        footprint=_footprint(parts),
        cavity=_cavity(entry.cavity, entry.at),
        top=_top(entry.top, entry.at),
        grasps=_grasps(entry.grasps, entry.at, source, least=None),
        mass=entry.mass,
        damping=entry.damping,
        friction=entry.friction,
        armature=entry.armature,
    )


def _bounds(state: StateEntry) -> tuple[tuple[float | None, float], tuple[float | None, float]]:
    """Return both bounds of a state, each with the value of one that is left out."""
    return (state.least, -math.inf), (state.greatest, math.inf)


def _of_mesh(file: ObjectFile, path: Path, source: str) -> ObjectModel:
    """Return an object with the shape of another file, without the paint of a variant."""
    if file.parts:
        raise ConfigurationError(source, "parts", "parts beside a mesh", "one of the two")
    if file.size is None:
        raise ConfigurationError(source, "size", "nothing", "the size of the mesh along x, y and z [m]", "Add the key.")
    mesh = path.parent / file.mesh
    corners = corners_of(mesh, file.mass, source)
    lower, upper = (tuple(corners.min(axis=0).tolist()), tuple(corners.max(axis=0).tolist()))
    size, origin = _minus(upper, lower), _on_ground(lower, upper)
    if max(abs(found - said) for found, said in zip(size, file.size, strict=True)) > OFF:
        found = ", ".join(f"{side:.4g}" for side in size)
        raise ConfigurationError(
            source, "size", file.size, f"the size of {mesh.name}, ({found}) m", "Check its unit, or correct the size."
        )
    if mesh.suffix.lower() in MJCF:
        if max(abs(part) for part in origin) > OFF:
            at = ", ".join(f"{part:.4g}" for part in origin)
            expected = "a model whose origin is at the centre of its footprint, on the ground"
            raise ConfigurationError(source, "mesh", f"{mesh.name}, with that at ({at}) m", expected)
        origin = (0.0, 0.0, 0.0)
    footprint = shapes.hull((x - origin[0], y - origin[1]) for x, y, _ in corners.tolist())
    of_mesh = {"parts": (), "mesh": mesh, "origin": origin, "paint": Paint()}
    return _object(file, path.stem, size, footprint, origin, source, **of_mesh)


def _object(
    file: ObjectFile, type_: str, size: Vector3, footprint: Polygon, ground: Vector3, source: str, **shape: Any
) -> ObjectModel:
    """Return an object of no variant; its frame is at ``ground`` in that of its file [m]."""
    return ObjectModel(
        model="",
        type=type_,
        nouns=file.nouns,
        category=file.category,
        colour="",
        size=size,
        mass=file.mass,
        footprint=footprint,
        cavity=_cavity(file.cavity, ground),
        top=_top(file.top, ground),
        stackable=file.stackable,
        grasps=_grasps(file.grasps, ground, source),
        fixed=file.fixed,
        uri="",
        **shape,
    )


def _variant(file: ObjectFile, base: ObjectModel, name: str, uri: str, source: str) -> ObjectModel:
    variant = file.variants[name]
    for paint in variant.paints:
        if paint not in file.paints:
            raise ConfigurationError.unknown(source, f"variants.{name}.paints", paint, file.paints, "paint")
    painted = {key: _changed(paint, variant.paints.get(key)) for key, paint in file.paints.items()}
    joints = (
        replace(joint, parts=_painted(joint.parts, file.joints[joint.name].parts, painted)) for joint in base.joints
    )
    plain = name == PLAIN
    return replace(
        base,
        model=base.type if plain else f"{name}_{base.type}",
        colour="" if plain or file.fixed else name.replace("_", " "),
        nouns=(*variant.nouns, *(noun for noun in file.nouns if noun not in variant.nouns)),
        parts=_painted(base.parts, file.parts, painted),
        joints=tuple(joints),
        uri=f"{uri}#{name}",
        lights=base.lights if variant.lights is None else variant.lights,
        paint=None if base.paint is None else painted.get(BODY, base.paint),
    )


def _painted(geoms: Iterable[Primitive], parts: Iterable[Part], paints: Mapping[str, Paint]) -> tuple[Primitive, ...]:
    """Return geoms in the paints of a variant; ``parts`` are those of the file that they were made of."""
    names = [part.paint for part in parts for _ in shapes.geoms(part)]
    return tuple(replace(geom, paint=paints[name]) for geom, name in zip(geoms, names, strict=True))


def _changed(paint: Paint, change: PaintChange | None) -> Paint:
    if change is None:
        return paint
    changes: dict[str, Any] = {key: value for key, value in vars(change).items() if value is not None}
    return replace(paint, **changes)


def _on_ground(lower: Vector3, upper: Vector3) -> Vector3:
    return (lower[0] + upper[0]) / 2, (lower[1] + upper[1]) / 2, lower[2]


def _minus(a: Vector3, b: Vector3) -> Vector3:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _moved(polygon: Polygon, origin: Vector3) -> Polygon:
    return tuple((x - origin[0], y - origin[1]) for x, y in polygon)


def _cavity(region: CavityRegion | None, origin: Vector3) -> Cavity | None:
    if region is None:
        return None
    return Cavity(_moved(shapes.region_polygon(region), origin), region.floor - origin[2], region.rim - origin[2])


def _top(region: TopRegion | None, origin: Vector3) -> Top | None:
    return None if region is None else Top(_moved(shapes.region_polygon(region), origin), region.z - origin[2])


def _grasps(
    entries: tuple[GraspEntry, ...], origin: Vector3, source: str, least: float | None = FINGER_BEYOND
) -> tuple[Grasp, ...]:
    """Return grasps in a frame with this origin, at least so high above the ground [m]; None for no ground."""
    grasps = []
    for index, entry in enumerate(entries):
        if least is not None and entry.at[2] - origin[2] < least:
            raise ConfigurationError(
                source,
                f"grasps.{index}.at",
                entry.at,
                f"a point {FINGER_BEYOND * 1000:g} mm or more above the ground, because fingers reach so far beyond it",
            )
        for copy in range(entry.around):
            turn = about((0.0, 0.0, 1.0), math.tau * copy / entry.around)
            grasps.append(
                Grasp(
                    _minus(rotate(turn, entry.at), origin),
                    rotate(turn, _unit(entry.approach)),
                    rotate(turn, _unit(entry.closing)),
                    entry.width,
                    entry.turns,
                )
            )
    return tuple(grasps)


def _unit(vector: Vector3) -> Vector3:
    length = math.sqrt(sum(part * part for part in vector))
    return vector[0] / length, vector[1] / length, vector[2] / length
