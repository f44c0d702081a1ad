"""The things of a kitchen in physics: every joint goes by an honest pull or push, and things stay where they belong."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from kitchen_hand import CLOSED, DOWN, FORWARD, LIBRARY, OPEN, Kitchen

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import SHIPPED, load_library, tool_pose
from robocontrast_ros.objects.validation import examine

TYPES = {model.type: model for model in reversed(LIBRARY.values()) if not model.fixed}
FIXTURES = {model.type: model for model in LIBRARY.values() if model.fixed and model.type != "table"}
PAGE = (Path(__file__).parents[3] / "docs" / "kitchen_things.md").read_text(encoding="utf-8")
FITTING = (
    *(kind for kind, model in TYPES.items() if model.category in ("food", "fruit")),
    *("wine_bottle", "black_rice_bowl"),
)
DRAWERS = ("bottom_drawer", "middle_drawer", "top_drawer")
steps = pytest.mark.parametrize("step", [0.002, 0.004])


def part(fixture, name):
    return next(part for part in FIXTURES[fixture].joints if part.name == name)


def state(kitchen, name, fixture, moving):
    return part(fixture, moving).joint.state(kitchen.position(f"{name}/{moving}"))


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "lemon"])
def test_a_thing_stands_and_every_grasp_holds(kind):
    findings = examine(TYPES[kind])
    assert findings.stands
    assert all(findings.held)
    for grasp, width in zip(TYPES[kind].grasps, findings.widths, strict=True):
        assert width == pytest.approx(grasp.width, abs=0.003)


def test_the_names_of_the_kitchen_are_no_names_of_the_objects_beside_it():
    assert not set(load_library()) & set(load_library([f"{SHIPPED}/kitchen"]))


@steps
@pytest.mark.parametrize("drawer", DRAWERS)
def test_a_hand_that_takes_the_handle_opens_and_closes_a_drawer_and_no_other(drawer, step):
    x, y, z = part("cabinet", drawer).joint.home.position
    kitchen = Kitchen({"cabinet": ("brown_cabinet", Pose())}, step, FORWARD, at=(0.25, y, z))
    kitchen.to(x, y, z)
    kitchen.hold(CLOSED, 0.3)
    kitchen.to(x + 0.165, y, z)
    assert kitchen.position(f"cabinet/{drawer}") >= 0.155 and state(kitchen, "cabinet", "cabinet", drawer) == "open"
    kitchen.to(x - 0.002, y, z)
    kitchen.hold(OPEN, 0.3)
    kitchen.to(x + 0.1, y, z)
    assert kitchen.position(f"cabinet/{drawer}") <= 0.002 and state(kitchen, "cabinet", "cabinet", drawer) == "closed"
    assert all(kitchen.most[f"cabinet/{other}"] < 0.001 for other in DRAWERS if other != drawer)
    assert not kitchen.bumped


@steps
def test_what_lies_in_a_drawer_comes_along_and_nothing_is_lost(step):
    x, y, z = part("cabinet", "top_drawer").joint.home.position
    things = {
        "cabinet": ("brown_cabinet", Pose()),
        "mug": ("red_coffee_mug", Pose((-0.04, 0.05, 0.282))),
        "egg": ("egg", Pose((0.02, -0.05, 0.214))),
        "box": ("chocolate_pudding", Pose((0.02, 0.04, 0.214))),
    }
    kitchen = Kitchen(things, step, FORWARD, at=(x + 0.1, y, z))
    kitchen.hold(0.018, 0.5)
    before = {name: kitchen.pose(name) for name in ("mug", "egg", "box")}
    kitchen.to(x, y, z)
    kitchen.hold(CLOSED, 0.3)
    kitchen.to(x + 0.155, y, z)
    opened = kitchen.position("cabinet/top_drawer")
    assert 0.14 <= opened <= 0.161
    for name in ("egg", "box"):
        shift = kitchen.pose(name).position[0] - before[name].position[0]
        assert shift == pytest.approx(opened, abs=0.03) and kitchen.pose(name).position[2] < 0.235
    kitchen.to(x - 0.002, y, z)
    kitchen.hold(0.018, 0.3)
    kitchen.to(x + 0.1, y, z)
    assert kitchen.position("cabinet/top_drawer") <= 0.005
    assert kitchen.pose("mug").distance_to(before["mug"]) < 0.001
    assert all(kitchen.pose(name).distance_to(before[name]) < 0.03 for name in ("egg", "box"))
    assert all(kitchen.most[f"cabinet/{other}"] < 0.001 for other in DRAWERS[:2])
    assert not kitchen.bumped


def around_hinge(angle):
    """Return where the microwave's handle is with its door at an angle [rad]."""
    return part("microwave", "door").joint.pose(angle).position


@steps
@pytest.mark.parametrize("approach", [DOWN, FORWARD], ids=["from above", "from the front"])
def test_a_hand_opens_the_microwave_by_its_bar_leaves_it_open_and_closes_it(approach, step):
    away = tuple(-0.1 * part for part in approach)
    x, y, z = around_hinge(0.0)
    kitchen = Kitchen({"microwave": ("white_microwave", Pose())}, step, approach, at=(x + away[0], y, z + away[2]))
    kitchen.to(x, y, z)
    kitchen.hold(CLOSED, 0.3)
    for degrees in range(5, 101, 5):
        kitchen.to(*around_hinge(-math.radians(degrees)), speed=0.3)
    kitchen.hold(0.018, 0.3)
    pulled = kitchen.position("microwave/door")
    x, y, z = kitchen.tool()
    kitchen.to(x + away[0], y, z + away[2])
    kitchen.run(0.5)
    left = kitchen.position("microwave/door")
    assert left < -math.radians(90) and abs(left - pulled) < 0.02
    assert state(kitchen, "microwave", "microwave", "door") == "open"
    kitchen.to(x, y, z)
    kitchen.hold(CLOSED, 0.3)
    for degrees in range(95, -1, -5):
        kitchen.to(*around_hinge(-math.radians(degrees)), speed=0.3)
    x, y, z = around_hinge(math.radians(2.0))  # the fingers give way sideways by some millimetres
    kitchen.to(x, y, z)
    kitchen.hold(0.018, 0.3)
    kitchen.to(x + away[0], y, z + away[2])
    kitchen.run(0.5)
    assert kitchen.position("microwave/door") > -math.radians(0.5)
    assert state(kitchen, "microwave", "microwave", "door") == "closed"
    assert not kitchen.bumped


@steps
def test_a_hand_from_above_turns_the_knob_on_and_off(step):
    x, y, z = part("stove", "knob").joint.home.position
    kitchen = Kitchen(
        {"stove": ("stove", Pose()), "pot": ("red_pot", Pose((-0.055, 0, 0.0345)))}, step, at=(x, y, z + 0.1)
    )
    for turn, word in ((math.radians(50), "on"), (0.0, "off")):
        kitchen.to(x, y, z)
        kitchen.hold(CLOSED, 0.3)
        kitchen.to(x, y, z, turn=-turn)
        kitchen.hold(0.02, 0.2)
        kitchen.to(x, y, z + 0.1)
        assert kitchen.position("stove/knob") == pytest.approx(turn, abs=0.05)
        assert state(kitchen, "stove", "stove", "knob") == word
    assert not kitchen.bumped


@steps
@pytest.mark.parametrize("yaw", [0.0, 0.39])
@pytest.mark.parametrize(("dx", "dy", "tilt"), [(0.0, 0.0, 0.1), (0.004, 0.003, 10.0)])
def test_bowls_nest(dx, dy, tilt, yaw, step):
    # With a friction of 1 they stay as far off as they were let go, and lean by that.
    high = ("white_rice_bowl", Pose.planar(0.4 + dx, dy, yaw, 0.04))
    kitchen = Kitchen({"low": ("black_rice_bowl", Pose((0.4, 0, 0.001))), "high": high}, step)
    kitchen.run(1.0)
    lower, upper = kitchen.pose("low").position, kitchen.pose("high").position
    assert math.dist(lower[:2], upper[:2]) < 0.008 and 0.02 < upper[2] - lower[2] < 0.034
    assert kitchen.upright("high") < math.radians(tilt) and kitchen.upright("low") < math.radians(0.1)


@steps
def test_food_stays_in_a_bowl_that_is_carried_to_a_plate(step):
    things = {
        "bowl": ("white_rice_bowl", Pose((0.4, -0.2, 0.001))),
        "egg": ("egg", Pose((0.4, -0.2, 0.012))),
        "plate": ("white_side_plate", Pose((0.4, 0.2, 0.001))),
    }
    grasp = LIBRARY["white_rice_bowl"].grasps[0]
    x, y, z = 0.4 + grasp.point[0], -0.2 + grasp.point[1], grasp.point[2]
    kitchen = Kitchen(things, step, grasp.approach, grasp.closing, at=(x, y, z + 0.1))
    kitchen.hold(0.015, 0.5)
    kitchen.to(x, y, z)
    kitchen.hold(CLOSED, 0.3)
    kitchen.to(x, y, z + 0.1)
    kitchen.to(x, y + 0.4, z + 0.1, speed=0.4)
    kitchen.to(x, y + 0.4, z + 0.008)
    kitchen.hold(0.015, 0.3)
    kitchen.to(x, y + 0.4, z + 0.1)
    kitchen.run(0.5)
    bowl, egg = kitchen.pose("bowl"), kitchen.pose("egg")
    assert bowl.position == pytest.approx((0.4, 0.2, 0.005), abs=0.01) and kitchen.upright("bowl") < math.radians(2)
    assert math.dist(bowl.position[:2], egg.position[:2]) < 0.03 and egg.position[2] < 0.035
    assert not kitchen.bumped


@pytest.mark.parametrize("fixture", ["burner", "under the shelf", "on the shelf"])
def test_a_pan_goes_by_its_handle_onto_the_stove_and_onto_and_under_the_shelf(fixture):
    # With a step of 4 ms contacts are softer, and its weight turns the handle out of the fingers.
    model = LIBRARY["frying_pan"]
    if fixture == "burner":
        things, goal = {"stove": ("stove", Pose())}, (-0.055 + 0.055, 0.0, 0.034)
    else:
        things = {"shelf": ("shelf", Pose())}
        goal = (0.06, 0.0, 0.008 if fixture.startswith("under") else 0.160)
    grasp = model.grasps[1]
    start = (0.45, 0.0, 0.001)
    x, y, z = (a + b for a, b in zip(start, grasp.point, strict=True))
    kitchen = Kitchen(
        things | {"pan": ("frying_pan", Pose(start))}, 0.002, grasp.approach, grasp.closing, at=(x, y, z + 0.1)
    )
    kitchen.hold(0.02, 0.1)
    kitchen.to(x, y, z)
    kitchen.hold(CLOSED, 0.3)
    above = goal[2] + (0.05 if fixture == "burner" else 0.03)
    kitchen.to(x, y, z + above)
    gx, gy, gz = (a + b for a, b in zip(goal, grasp.point, strict=True))
    kitchen.to(gx, gy, z + above)
    kitchen.to(gx, gy, gz + 0.003)
    kitchen.hold(0.02, 0.3)
    kitchen.to(gx, gy, gz + 0.1)
    kitchen.run(0.3)
    assert kitchen.pose("pan").position == pytest.approx(goal, abs=0.012) and kitchen.upright("pan") < math.radians(2)
    assert not kitchen.bumped


@pytest.mark.parametrize(
    ("name", "yaw", "grasp", "x", "y"),
    [("wine_bottle", math.pi, 0, 0.178, 0.065), ("black_rice_bowl", 0.0, 4, 0.2, 0.0)],
)
def test_a_hand_from_above_lays_things_into_the_lowest_drawer(name, yaw, grasp, x, y):
    # Between the handles of the upper drawers and the front of this one, or beside the handles.
    moving, grasp = part("cabinet", "bottom_drawer"), LIBRARY[name].grasps[grasp]
    goal = (x, y, moving.joint.home.position[2] + moving.cavity.floor)
    start = Pose.planar(0.5, 0.0, yaw, 0.001)
    things = {"cabinet": ("brown_cabinet", Pose()), "thing": (name, start)}
    point = tool_pose(Pose.planar(0.0, 0.0, yaw), grasp).position
    above = [a + b for a, b in zip(start.position, point, strict=True)]
    kitchen = Kitchen(things, at=(*above[:2], 0.3), cabinet__bottom_drawer=0.16)
    kitchen.hold(grasp.width / 2 + 0.008)
    kitchen.to(*above)
    kitchen.hold(CLOSED, 0.3)
    kitchen.to(*above[:2], 0.35)
    end = [a + b for a, b in zip(goal, point, strict=True)]
    kitchen.to(*end[:2], 0.35)
    kitchen.to(*end[:2], end[2] + 0.003)
    kitchen.hold(grasp.width / 2 + 0.008, 0.3)
    kitchen.to(*end[:2], 0.35)
    centre = kitchen.centre("thing")
    assert centre[:2] == pytest.approx(goal[:2], abs=0.01) and goal[2] < centre[2] < goal[2] + 0.046
    assert kitchen.position("cabinet/bottom_drawer") > 0.15 and not kitchen.bumped


@steps
@pytest.mark.parametrize(("off", "yaw"), [(0.0, 0.0), (0.012, 0.1), (0.075, math.pi)])
def test_a_bottle_that_is_let_go_over_the_rack_lies_in_a_row(off, yaw, step):
    things = {"rack": ("wine_rack", Pose()), "bottle": ("wine_bottle", Pose.planar(0.0, off, yaw, 0.05))}
    kitchen = Kitchen(things, step)
    kitchen.run(1.5)
    cavity, centre = FIXTURES["wine_rack"].cavity, kitchen.centre("bottle")
    assert centre[1] == pytest.approx(round(off / 0.075) * 0.075, abs=0.003)
    assert centre[2] == pytest.approx(cavity.floor + 0.023, abs=0.002) and centre[2] < cavity.rim


@pytest.mark.parametrize("drawer", DRAWERS)
def test_what_is_put_into_a_drawer_has_room_in_it_when_it_is_shut(drawer):
    moving = part("cabinet", drawer)
    x, _, z = moving.joint.home.position
    middle, floor = x + sum(px for px, _ in moving.cavity.polygon) / 4 + 0.15, z + moving.cavity.floor
    for name in FITTING:
        things = {"cabinet": ("white_cabinet", Pose()), "thing": (name, Pose((middle, 0.0, floor + 0.002)))}
        kitchen = Kitchen(things, at=(0.6, 0, 0.3), **{f"cabinet__{drawer}": 0.15})
        kitchen.data.joint(f"cabinet/{drawer}").qfrc_applied = -2.0  # some 0.15 m/s
        kitchen.run(1.8)
        assert kitchen.position(f"cabinet/{drawer}") < 0.003, name
        centre = kitchen.centre("thing")
        assert centre[0] == pytest.approx(middle - 0.15, abs=0.05) and floor < centre[2] < floor + 0.046, name


def test_the_page_has_the_sizes_masses_and_variants_of_all_things():
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \| (\d+) x (\d+) x (\d+) \|(?: (\d+) \|)?", PAGE, re.MULTILINE)
    library = load_library([f"{SHIPPED}/kitchen"]).values()
    assert {row[0] for row in rows} == {model.type for model in library}
    for kind, variants, *size, mass in rows:
        models = [model for model in library if model.type == kind]
        assert variants.split(", ") == [model.uri.partition("#")[2] for model in models]
        assert [int(side) / 1000 for side in size] == pytest.approx(models[0].size, abs=0.0007), kind
        assert mass == ("" if models[0].fixed else f"{models[0].mass * 1000:.0f}")


def test_the_page_has_the_joints_of_all_fixtures():
    for fixture in FIXTURES.values():
        for moving in fixture.joints:
            unit = "N s/m" if moving.joint.type == "slide" else "N m s/rad"
            (row,) = (
                line for line in PAGE.splitlines() if line.startswith(f"| `{fixture.type}/") and moving.name in line
            )
            assert f"| {moving.mass:g} kg | {moving.damping:g} {unit} | {moving.friction:g} N" in row
            assert f"| {moving.armature:g} kg" in row and f"| {moving.joint.type} |" in row
