"""The objects that the package ships, and what a file of objects may not say."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import FINGER_BEYOND, SHIPPED, find_model, load_library, model_of_uri, tool_pose
from robocontrast_ros.objects.mjcf import object_spec
from robocontrast_ros.objects.schema import Paint
from robocontrast_ros.objects.textures import texture

LIBRARY = load_library()
MOVABLE = [model for model in LIBRARY.values() if not model.fixed]
UNDER_PALM = 0.04
"""How far a hand's palm is from the point between its finger tips, at least [m]."""


def first_of_types():
    return list({model.type: model for model in reversed(MOVABLE)}.values())


def area(polygon):
    """Return the signed area of a polygon, positive where it is counter-clockwise."""
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True)) / 2


def inside(point, polygon, tolerance=1e-6):
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return all((b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]) > -tolerance for a, b in pairs)


def test_the_library_is_as_rich_as_promised():
    types = {model.type for model in MOVABLE}
    assert len(types) >= 30
    assert len({model.category for model in MOVABLE}) >= 12
    fixed = [model.category for model in LIBRARY.values() if model.fixed]
    assert all(fixed.count(kind) >= 4 for kind in ("table", "background", "light"))
    for kind in types:
        variants = [model for model in MOVABLE if model.type == kind]
        assert len(variants) <= 4
        assert len({model.colour for model in variants}) == len(variants)
        assert all(len(model.parts) <= 45 for model in variants)
    assert sum(model.cavity is not None for model in first_of_types()) >= 4
    assert sum(model.top is not None for model in first_of_types()) >= 8
    assert sum(model.stackable for model in first_of_types()) >= 3


def test_a_library_has_a_stable_order_and_finds_models_by_name_and_uri():
    assert list(load_library()) == list(LIBRARY)
    assert list(load_library([SHIPPED + "/mug.yaml"])) == ["red_mug", "blue_mug", "white_mug"]
    assert model_of_uri("package://robocontrast_ros/config/objects/mug.yaml#blue") is LIBRARY["blue_mug"]
    with pytest.raises(ConfigurationError, match=r"objects`: got 'red_mag', expected a known object.*'red_mug'"):
        find_model(LIBRARY, "red_mag", "session.yaml", "objects")
    with pytest.raises(ConfigurationError, match=r"'pink', expected a known variant: blue, red, white"):
        model_of_uri("package://robocontrast_ros/config/objects/mug.yaml#pink")


@pytest.mark.parametrize("model", first_of_types(), ids=lambda model: model.type)
def test_a_shape_its_regions_and_its_grasps_fit_together(model):
    half = np.array(model.size) / 2
    corners = np.array(model.footprint)
    assert np.all(np.abs(corners) <= half[:2] * 1.1 + 1e-6)
    assert all(inside(point, model.footprint) for point in model.footprint)
    assert area(model.footprint) > 0
    for region in (model.cavity, model.top):
        if region is not None:
            assert area(region.polygon) > 0
            assert all(inside(point, model.footprint, 1e-3) for point in region.polygon)
    if model.cavity is not None:
        assert 0 < model.cavity.floor < model.cavity.rim <= model.size[2] + 0.002
    if model.top is not None:
        assert 0 < model.top.z <= model.size[2] + 1e-9
    from_above = [grasp for grasp in model.grasps if grasp.approach[2] < -0.999]
    assert min(grasp.width for grasp in from_above) <= 0.07
    for grasp in model.grasps:
        x, y, z = grasp.point
        assert abs(x) <= half[0]
        assert abs(y) <= half[1]
        assert FINGER_BEYOND <= z <= model.size[2]
        assert grasp.width <= max(model.size)
    for grasp in from_above:
        assert model.size[2] - grasp.point[2] <= UNDER_PALM


def test_a_compiled_object_has_the_mass_and_the_size_of_its_record():
    for model in first_of_types():
        compiled = object_spec(model, looks=False).compile()
        body = compiled.body(model.model)
        assert body.mass[0] == pytest.approx(model.mass, rel=1e-6)
        # Not more than all mass at the ends of a rod, and that inertias are those of a body.
        inertia = sorted(body.inertia.tolist())
        assert inertia[2] <= model.mass * sum((side / 2) ** 2 for side in model.size)
        assert inertia[0] > 0
        assert inertia[2] <= (inertia[0] + inertia[1]) * 1.001
        assert 0.0 < body.ipos[2] < model.size[2]


@examples(60)
@given(st.data())
def test_the_tool_is_where_the_object_takes_its_grasp(data):
    model = data.draw(st.sampled_from(first_of_types()))
    grasp = data.draw(st.sampled_from(model.grasps))
    turn = data.draw(st.integers(0, grasp.turns - 1))
    quaternion = np.array([data.draw(st.floats(-1.0, 1.0)) + (2.0 if axis == 3 else 0.0) for axis in range(4)])
    quaternion /= np.linalg.norm(quaternion)
    pose = Pose((data.draw(st.floats(-1.0, 1.0)), 0.2, 0.1), tuple(quaternion.tolist()))
    tool = tool_pose(pose, grasp, turn)
    of_object, of_tool = (quat2mat(np.roll(p.orientation, 1)) for p in (pose, tool))
    assert np.allclose(tool.position, pose.position + of_object @ grasp.point)
    assert np.allclose(of_tool[:, 2], of_object @ grasp.approach, atol=1e-6)
    angle = math.tau * turn / grasp.turns
    assert np.isclose(of_tool[:, 1] @ of_object @ grasp.closing, math.cos(angle), atol=1e-6)
    with pytest.raises(ValueError, match="turn: got"):
        tool_pose(pose, grasp, grasp.turns)


@pytest.mark.parametrize(
    ("kind", "size", "pattern", "digest"),
    [
        ("box", (0.05, 0.02, 0.07), "label", "971e17014b50"),
        ("cylinder", (0.03, 0.05, 0.0), "label", "26e14d8874b2"),
        ("box", (0.6, 0.8, 0.02), "planks", "d518618a11b0"),
        ("sphere", (0.03, 0.0, 0.0), "speckle", "160bc6b5f1ae"),
    ],
)
def test_a_texture_has_the_same_bytes_on_every_machine(kind, size, pattern, digest):
    edge, content = texture(kind, size, Paint(colour=(0.8, 0.3, 0.1), texture=pattern, text="SOUP"))
    assert len(content) == 6 * edge * edge * 3
    assert hashlib.sha256(content).hexdigest()[:12] == digest


def changed(tmp_path: Path, **changes) -> Path:
    """Return the file of the shipped cube with other values at dotted keys, None for none."""
    content = yaml.safe_load(resolve_uri(SHIPPED + "/cube.yaml").read_text(encoding="utf-8"))
    for key, value in changes.items():
        *path, last = key.split("__")
        at = content
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at[part]
        at[int(last) if isinstance(at, list) else last] = value
        if value is None:
            del at[last]
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mass": None}, r"`mass`: got 0.0, expected a mass above 0 kg. Weigh it"),
        ({"mass": 5.0}, r"`mass`: got 5.0, expected 0.003 to 3 kg"),
        ({"mass": 2.9}, r"`mass`: got 2.9, expected 0.000426 to 1.7 kg for a box of \(0.044, 0.044, 0.044\) m"),
        ({"grasps": []}, r"`grasps`: got 'nothing', expected one grasp or more"),
        ({"parts": []}, r"`parts`: got 'nothing', expected one part or more"),
        ({"parts__0__size": [0.044, 0.044]}, r"`parts.0`: got .*, expected 3 lengths as the size of a box, not 2"),
        ({"parts__0__size": [0.5, 0.044, 0.044]}, r"`size`: got .*, expected sides of 0.005 to 0.4 m"),
        ({"parts__0__paint": "lid"}, r"`parts.0.paint`: got 'lid', expected a known paint: body"),
        ({"parts__0__collides": False}, r"`parts`: got 'nothing that collides'"),
        ({"parts__0__type": "torus"}, r"`parts.0.type`: got 'torus'"),
        ({"grasps__0__at": [0, 0, 0.003]}, r"`grasps.0.at`: .*expected a point 9 mm or more above the ground"),
        ({"grasps__0__at": [0.3, 0, 0.02]}, r"`grasps`: got '1 that do not hold', expected one or more"),
        ({"grasps__0__closing": [0, 0, 1]}, r"`grasps.0`: .*a closing direction at a right angle"),
        ({"variants__red": {"paints": {"lid": {}}}}, r"`variants.red.paints`: got 'lid', expected a known paint"),
        ({"variants": {}}, r"`variants`: got {}, expected"),
        ({"colour": "red"}, r"`colour`: got 'colour', expected a known key"),
        ({"fixed": True}, r"`fixed`: got True, expected neither mass nor grasps for a fixed object"),
        ({"parts__0": {"type": "box", "size": [0.02, 0.02, 0.3], "turn": [10, 0, 0]}}, r"tips over, rolls or slides"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(tmp_path, changes, said):
    file = changed(tmp_path, **changes)
    with pytest.raises(ConfigurationError, match=said) as error:
        load_library([file])
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


def test_places_that_are_not_there_or_name_one_object_twice_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no .yaml file"):
        load_library([tmp_path])
    with pytest.raises(ConfigurationError, match=r"nowhere.yaml"):
        load_library([tmp_path / "nowhere.yaml"])
    with pytest.raises(ConfigurationError, match=r"got 'red_cube', expected a name that no other object has"):
        load_library([SHIPPED, resolve_uri(SHIPPED + "/cube.yaml")])
