"""Objects in physics: they stand, jaws hold them, scenes settle; and a user's mesh."""

from __future__ import annotations

import math

import pytest
import yaml

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.objects import load_library
from robocontrast_ros.objects.settling import DEEPEST, PHYSICS, WORLD, settle
from robocontrast_ros.objects.validation import examine
from robocontrast_ros.tasks.tabletop.scenes import at_rest

LIBRARY = load_library()
TYPES = {model.type: model for model in reversed(LIBRARY.values()) if not model.fixed}
TABLE = ObjectState("oak_table", "oak_table", Pose())


@pytest.mark.parametrize("kind", TYPES)
def test_an_object_stands_and_every_grasp_holds(kind):
    model = TYPES[kind]
    findings = examine(model)
    assert findings.stands
    assert all(findings.held)
    for grasp, width in zip(model.grasps, findings.widths, strict=True):
        assert width == pytest.approx(grasp.width, abs=0.003)


def on_table(*names):
    """Return objects in a grid with gaps, each turned in a way of its own."""
    places = [(0.28 + 0.24 * (index // 5), -0.5 + 0.25 * (index % 5)) for index in range(len(names))]
    placed = (ObjectState(n, n, Pose.planar(x, y, 0.7 * x + 2 * y)) for n, (x, y) in zip(names, places, strict=True))
    return Scene((TABLE, *placed))


def test_all_objects_are_at_rest_where_they_are_put():
    names = [model.model for model in TYPES.values()]
    for start in range(0, len(names), 15):
        scene = on_table(*names[start : start + 15])
        settled = settle(scene, LIBRARY)
        assert settled.still
        assert settled.physics == PHYSICS
        assert settled.scene.names == scene.names
        for item in scene:
            after = settled.scene[item.name].pose
            assert after.distance_to(item.pose) < 0.002
            assert abs(math.remainder(after.yaw - item.pose.yaw, math.tau)) < 0.01


def test_what_floats_falls_and_what_stands_on_another_stays():
    cube = LIBRARY["red_cube"]
    low, high = Pose((0.4, 0.0, 0.05)), Pose((0.4, 0.0, 0.05 + cube.size[2]))
    scene = Scene((TABLE, ObjectState("low", "red_cube", low), ObjectState("high", "blue_cube", high)))
    settled = settle(scene, LIBRARY)
    assert settled.still
    assert settled.duration > 0.1
    assert settled.scene["low"].pose.position[2] == pytest.approx(0.0, abs=0.001)
    assert settled.scene["high"].pose.position[2] == pytest.approx(cube.size[2], abs=0.001)
    assert settled.scene["oak_table"] == TABLE
    # The order of the objects decides nothing.
    again = settle(Scene(tuple(reversed(scene.objects))), LIBRARY)
    assert [again.scene[name] for name in scene.names] == list(settled.scene)


def test_what_is_stuck_in_another_thing_is_still_and_its_overlap_says_so():
    def with_a_berry(z):
        wrench = ObjectState("wrench", "blue_wrench", Pose((0.4, 0.0, 0.0)))
        return Scene((TABLE, wrench, ObjectState("berry", "red_strawberry", Pose((0.4, 0.0, z)))))

    stuck = settle(with_a_berry(0.0), LIBRARY)
    assert stuck.still
    assert stuck.overlap > 2 * DEEPEST
    assert at_rest(with_a_berry(0.0), LIBRARY, WORLD) is None
    above = settle(with_a_berry(LIBRARY["blue_wrench"].size[2]), LIBRARY)
    assert above.still
    assert above.overlap < DEEPEST / 10


def test_a_ball_that_is_dropped_on_a_slope_of_another_is_not_called_still_too_early():
    scene = Scene(
        (
            TABLE,
            ObjectState("ball", "yellow_tennis_ball", Pose((0.4, 0.0, 0.0))),
            ObjectState("cube", "red_cube", Pose((0.415, 0.0, 0.09))),
        )
    )
    settled = settle(scene, LIBRARY)
    cube = settled.scene["cube"].pose
    assert not settled.still or cube.position[2] < 0.05


def cylinder(corners: int, closed: bool, unit: float) -> str:
    """Return an OBJ of an upright prism beside the origin: 40 x 40 x 60 mm in a unit."""
    ring = [math.tau * index / corners for index in range(corners)]
    points = [(0.1 + 0.02 * math.cos(a), 0.02 * math.sin(a), z) for z in (0.0, 0.06) for a in ring]
    sides = [
        (index + 1, (index + 1) % corners + 1, corners + (index + 1) % corners + 1, corners + index + 1)
        for index in range(corners)
    ]
    lids = [tuple(range(corners, 0, -1)), *([tuple(range(corners + 1, 2 * corners + 1))] if closed else [])]
    lines = [f"v {x / unit:.9g} {y / unit:.9g} {z / unit:.9g}" for x, y, z in points]
    lines += ["f " + " ".join(f"{corner}//1" for corner in face) for face in [*lids, *sides]]
    return "# a cork\nvn 0 0 1\n" + "\n".join(lines) + "\n"


def own(tmp_path, mesh="cork.obj", **changes):
    content = {
        "nouns": ["cork"],
        "category": "toy",
        "mass": 0.03,
        "size": [0.04, 0.04, 0.06],
        "mesh": mesh,
        "grasps": [{"at": [0.1, 0, 0.04], "width": 0.04}, {"at": [0.1, 0.4, 0.04], "width": 0.04}],
        "variants": {"brown": {"paints": {"body": {"colour": [0.6, 0.4, 0.2]}}}},
        "paints": {"body": {}},
        **changes,
    }
    file = tmp_path / "cork.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def test_a_mesh_of_ones_own_is_an_object_with_the_grasps_that_hold(tmp_path):
    (tmp_path / "cork.obj").write_text(cylinder(16, True, 1.0))
    model = load_library([own(tmp_path)])["brown_cork"]
    assert model.size == pytest.approx((0.04, 0.04, 0.06), abs=1e-6)
    assert [grasp.point for grasp in model.grasps] == [pytest.approx((0.0, 0.0, 0.04), abs=1e-9)]
    assert len(model.footprint) == 16
    settled = settle(
        Scene((TABLE, ObjectState("cork", "brown_cork", Pose.planar(0.4, 0.1)))), LIBRARY | {"brown_cork": model}
    )
    assert settled.scene["cork"].pose.distance_to(Pose.planar(0.4, 0.1)) < 0.002


def test_a_model_of_mujoco_is_an_object(tmp_path):
    geom = '<geom type="box" size="0.03 0.02 0.02" pos="0 0 {z}" mass="0.03"/>'
    (tmp_path / "block.xml").write_text(f"<mujoco><worldbody><body>{geom.format(z=0.02)}</body></worldbody></mujoco>")
    shape = {"size": [0.06, 0.04, 0.04], "grasps": [{"at": [0, 0, 0.02], "width": 0.04}]}
    file = own(tmp_path, "block.xml", **shape)
    assert load_library([file])["brown_cork"].size == pytest.approx((0.06, 0.04, 0.04))
    with pytest.raises(ConfigurationError, match=r"`mass`: got 0.05, expected the mass of block.xml, 0.03 kg"):
        load_library([own(tmp_path, "block.xml", mass=0.05, **shape)])
    (tmp_path / "high.xml").write_text(f"<mujoco><worldbody><body>{geom.format(z=0.05)}</body></worldbody></mujoco>")
    with pytest.raises(ConfigurationError, match=r"at \(0, 0, 0.03\) m', expected a model whose origin is at"):
        load_library([own(tmp_path, "high.xml", **shape)])


@pytest.mark.parametrize(
    ("obj", "changes", "said"),
    [
        (cylinder(16, False, 1.0), {}, r"16 edges that do not belong to two faces', expected a closed surface. Fill"),
        (cylinder(16, True, 0.001), {}, r"`size`: got .*, expected the size of cork.obj, \(40, 40, 60\) m. Check its"),
        (cylinder(16, True, 1.0), {"mass": 4.0}, r"`mass`: got 4.0, expected 0.003 to 3 kg"),
        (cylinder(16, True, 1.0), {"grasps": [{"at": [0.3, 0, 0.04], "width": 0.04}]}, r"1 that do not hold"),
        (cylinder(16, True, 1.0), {"size": None}, r"`size`: got 'nothing', expected the size of the mesh"),
        (cylinder(16, True, 1.0), {"mesh": "cork.stl"}, r"`mesh`: got 'cork.stl', expected a file that ends in .obj"),
        (cylinder(16, True, 1.0), {"mesh": "gone.obj"}, r"`mesh`: got .*gone.obj', expected a readable file"),
        ("v 0 0 0\nf 1 2 3\n", {}, r"`mesh`: got 'line 2 of cork.obj: f 1 2 3', expected an OBJ file's vertices"),
        ("v 0 0 0\n", {}, r"`mesh`: got 'cork.obj, 0 faces', expected a body with 4 faces or more"),
    ],
)
def test_a_mesh_that_cannot_be_used_is_refused_in_one_line(tmp_path, obj, changes, said):
    (tmp_path / "cork.obj").write_text(obj)
    file = own(tmp_path, **changes)
    with pytest.raises(ConfigurationError, match=said) as error:
        load_library([file])
    assert "\n" not in str(error.value)
    assert str(file) in str(error.value)
