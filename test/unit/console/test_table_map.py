"""Set-ups as pictures and words: directions, moves, and what stands wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from articulated import CABINET, cabinet_scene
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import tabletop

from robocontrast_ros.console.questions import SetUpQuestion
from robocontrast_ros.console.table_map import TableMap, doubts_in_words, misplaced, move_in_words
from robocontrast_ros.console.tolerances import tolerances_of
from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.objects import fixed_models, with_parts
from robocontrast_ros.strategies.effort import Tolerance, Tolerances, setup_moves
from robocontrast_ros.tasks.protocol import Backdrop

ALLOWED = Tolerance(0.01, math.radians(10))
FLOOR = ((-1.0, -2.0), (3.0, -2.0), (3.0, 1.0), (-1.0, 1.0))
CORNER = ((0.0, 0.0), (0.3, 0.0), (0.0, 0.1))
"""An outline that tells its own turn, and whether it is mirrored."""

UPS = ("x", "-x", "y", "-y")
AHEAD = {"x": (1.0, 0.0), "-x": (-1.0, 0.0), "y": (0.0, 1.0), "-y": (0.0, -1.0)}


def drawing(up):
    """Return the map of a task with this backdrop; None for a task without one."""
    backdrop = Backdrop(FLOOR, (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)),), up=up) if up else None
    scenes = SimpleNamespace(outline=lambda model: CORNER, models={})
    return TableMap(SimpleNamespace(backdrop=backdrop, scenes=scenes, store=None))


def scene(**places):
    return Scene(tuple(ObjectState(name, name, Pose.planar(*place)) for name, place in places.items()))


def asked(present, target):
    return SetUpQuestion(target, present, setup_moves(present, target, Tolerance(0.001, 0.01)))


def turned(a, b, c):
    """Return twice the area of a triangle, positive where it goes counterclockwise in a frame with y up."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@pytest.mark.parametrize("up", UPS)
def test_what_is_up_in_the_frame_is_up_in_the_picture_and_nothing_is_mirrored(up):
    ahead = np.array(AHEAD[up])
    right = np.array((ahead[1], -ahead[0]))
    present = scene(here=(0.5, -0.5), ahead=(0.5 + 0.4 * ahead[0], -0.5 + 0.4 * ahead[1]))
    present = Scene((*present, *scene(beside=(0.5 + 0.4 * right[0], -0.5 + 0.4 * right[1]))))
    drawn = {o["name"]: o for o in drawing(up).of(asked(present, present))["objects"]}
    here, above, beside = (np.array(drawn[name]["at"]) for name in ("here", "ahead", "beside"))
    assert above - here == pytest.approx([0.0, -0.4], abs=1e-3)
    assert beside - here == pytest.approx([0.4, 0.0], abs=1e-3)
    # y points down, so that what goes counterclockwise on the table is negative here, and still so to the eye.
    assert turned(*drawn["here"]["outline"]) == pytest.approx(-turned(*CORNER), abs=1e-3)


@pytest.mark.parametrize("up", UPS)
def test_an_object_is_drawn_where_it_stands_and_as_it_is_turned(up):
    pose = Pose.planar(0.2, 0.1, math.radians(30.0))
    drawn = drawing(up).of(asked(scene(a=(0.2, 0.1, math.radians(30.0))), scene(a=(0.2, 0.1, math.radians(30.0)))))
    (thing,) = drawn["objects"]
    straight = drawing("y").of(asked(scene(a=(0.0, 0.0)), scene(a=(0.0, 0.0))))["objects"][0]["outline"]
    sizes = np.linalg.norm(np.diff(thing["outline"], axis=0), axis=1)
    assert sizes == pytest.approx(np.linalg.norm(np.diff(straight, axis=0), axis=1), abs=1e-3)
    tip = np.subtract(thing["outline"][1], thing["outline"][0])
    told = math.atan2(-tip[1], tip[0]) + math.atan2(AHEAD[up][1], AHEAD[up][0]) - math.pi / 2
    assert math.remainder(told - pose.yaw, math.tau) == pytest.approx(0.0, abs=0.01)


def test_without_a_backdrop_y_is_up_and_an_empty_picture_has_a_size():
    drawn = drawing(None).of(asked(scene(a=(0.0, 0.5)), scene(a=(0.0, 0.5))))
    assert drawn["floor"] == [] == drawn["walls"] and drawn["objects"][0]["at"] == [0.0, -0.5]
    assert drawing(None).of(asked(Scene(), Scene()))["box"] == [0.0, 0.0, 1.0, 1.0]


def test_moves_are_drawn_from_where_to_where_and_what_stays_apart():
    present = scene(stays=(0.0, 0.0), goes=(0.1, 0.0), out=(0.2, 0.0))
    target = scene(stays=(0.0, 0.0), goes=(0.5, 0.0), comes=(0.3, 0.3))
    drawn = drawing("y").of(asked(present, target))
    assert [o["name"] for o in drawn["objects"]] == ["stays"]
    moves = {move["id"]: move for move in drawn["moves"]}
    assert moves["goes"]["from"] == [0.1, 0.0] and moves["goes"]["to"] == [0.5, 0.0]
    assert "to" not in moves["out"] and "from" not in moves["comes"]
    assert len(drawn["floor"]) == 4 and len(drawn["walls"]) == 1


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=5), st.sampled_from(UPS))
def test_all_that_is_drawn_lies_in_the_picture(places, up):
    present = scene(**{f"o{k}": place for k, place in enumerate(places)})
    target = scene(**{f"o{k}": (y, x) for k, (x, y) in enumerate(places)})
    drawn = drawing(up).of(asked(present, target))
    left, top, width, height = drawn["box"]
    outlines = [outline for move in drawn["moves"] for key, outline in move.items() if key.endswith("_outline")]
    for x, y in [p for polygon in (*outlines, *(o["outline"] for o in drawn["objects"])) for p in polygon]:
        assert left <= x <= left + width and top <= y <= top + height


@pytest.mark.parametrize("up", UPS)
def test_the_way_out_ends_at_the_nearest_edge_and_the_grid_has_the_scene_s_numbers(up):
    present = scene(stays=(0.0, 0.0), out=(2.9, -0.5))
    drawn = drawing(up).of(asked(present, scene(stays=(0.0, 0.0))))
    (move,) = drawn["moves"]
    left, top, width, height = drawn["box"]
    x, y = move["edge"]
    assert min(abs(x - left), abs(x - left - width), abs(y - top), abs(y - top - height)) < 1e-3
    assert np.hypot(x - move["from"][0], y - move["from"][1]) < 0.6
    for line in drawn["grid"]:
        axis, value = line["words"].replace("\u2212", "-").split()
        ends = np.array(drawing(up).in_scene(line["line"]))
        assert ends[:, "xy".index(axis)] == pytest.approx([float(value)] * 2, abs=1e-3)


def test_a_robot_and_its_start_are_told_in_metres_in_a_room():
    start = scene(a=(0.0, 0.0))
    target = replace(start, robot=Pose.planar(2.5, -1.25, math.radians(90.0)))
    drawn = drawing("y").of(replace(asked(start, target), bring_robot=True))
    assert drawn["robot"]["at"] == [2.5, 1.25]
    assert drawn["robot"]["place"] == "x 2.50 m, y \u22121.25 m, 90° (±0 cm, ±0°)"
    ahead = np.subtract(drawn["robot"]["ahead"], drawn["robot"]["at"])
    assert ahead[0] == pytest.approx(0.0, abs=1e-3) and ahead[1] < -0.1
    assert drawing("y").of(asked(start, target))["robot"] is None


def test_the_background_is_told_in_one_line_and_is_not_all_of_the_picture():
    task = tabletop()
    target, tolerances = task.sample(np.random.default_rng(3), "x").scene, tolerances_of(task, ALLOWED, {})
    fixed = {o.name for o in target if o.model in fixed_models(task.scenes.models.values())}
    assert len(fixed) == 3, "table, lamp and room"
    for present, changed in ((replace(target, objects=()), True), (target, False)):
        moves = setup_moves(present, target, tolerances)
        drawn = TableMap(task, tolerances).of(SetUpQuestion(target, present, moves))
        assert {name.replace(" ", "_") for name in drawn["background"]["names"]} == fixed
        assert drawn["background"]["changed"] is changed
        shown = {move["id"] for move in drawn["moves"]} | {o["name"].replace(" ", "_") for o in drawn["objects"]}
        assert shown == {*target.names} - fixed
        assert drawn["unit"] == "cm" and all("±1 cm" in move["place"] for move in drawn["moves"])
        assert max(np.ptp(np.array(outline)[:, 0]) for outline in drawn["background"]["outlines"]) > drawn["box"][2]


def test_the_shipped_task_is_drawn():
    task = tabletop()
    model = next(iter(task.scenes.models))
    target = Scene((ObjectState("thing", model, Pose.planar(0.4, 0.0)),))
    drawn = TableMap(task).of(asked(replace(target, objects=()), target))
    assert len(drawn["moves"][0]["to_outline"]) >= 3 and drawn["floor"]


@pytest.mark.parametrize(
    ("start", "goal", "words"),
    [
        (None, (0.0, 0.0), "bring it in"),
        ((0.0, 0.0), None, "take it out"),
        ((0.0, 0.0), (0.0, 0.123), "by 12.3 cm"),
        ((0.0, 0.0), (0.5, 0.0), "by 0.50 m"),
        ((0.0, 0.0), (0.1, 0.0, math.radians(90)), "by 10.0 cm, turn by 90° to the left"),
        ((0.0, 0.0, math.radians(170)), (0.0, 0.0, math.radians(-170)), "turn by 20° to the left"),
        ((0.0, 0.0, math.radians(-170)), (0.0, 0.0, math.radians(170)), "turn by 20° to the right"),
        # What is allowed was not the reason.
        ((0.0, 0.0), (0.0, 0.001, math.radians(11)), "turn by 11° to the left"),
        ((0.0, 0.0), (0.0, 0.011, math.radians(9)), "by 1.1 cm"),
        # The camera did not see it, and it was not ticked off.
        ((0.0, 0.0), (0.0, 0.0002, math.radians(3)), "look whether it stands right"),
    ],
)
def test_moves_are_told_in_words_with_what_is_wrong_and_not_with_what_is_allowed(start, goal, words):
    start, goal = (Pose.planar(*place) if place else None for place in (start, goal))
    assert move_in_words(SetupMove("a", "a", start, goal), ALLOWED) == words


def test_what_stands_wrong_is_told_one_line_each():
    target = scene(red_cup=(0.0, 0.0), turned=(0.1, 0.0), missing=(0.2, 0.0), right=(0.3, 0.0))
    actual = scene(red_cup=(0.03, 0.0), turned=(0.1, 0.0, math.radians(-20)), extra=(0.5, 0.5), right=(0.305, 0.0, 0.1))
    assert misplaced(actual, target, Tolerances(ALLOWED)) == {
        "extra": "extra should not be there",
        "red_cup": "red cup is 3.0 cm off, allowed is 1.0 cm",
        "turned": "turned is turned by 20°, allowed is 10°",
        "missing": "missing is missing",
    }
    other = Scene((replace(target["red_cup"], model="mug"), *(o for o in target if o.name != "red_cup")))
    assert misplaced(other, target, Tolerances(ALLOWED)) == {"red_cup": "red cup is not the right one"}


def test_errors_of_the_camera_are_allowed_besides():
    target, actual = scene(a=(0.0, 0.0)), scene(a=(0.0, 0.018, math.radians(15)))
    assert "a" in misplaced(actual, target, Tolerances(ALLOWED))
    assert "a" in misplaced(actual, target, Tolerances(ALLOWED), {"a": Tolerance(0.003, math.radians(3))})
    assert misplaced(actual, target, Tolerances(ALLOWED), {"a": Tolerance(0.005, math.radians(3))}) == {}
    assert "a" in misplaced(actual, target, Tolerances(ALLOWED), {"b": Tolerance(1.0, 1.0)})


@given(st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-3, 3)), st.floats(0.001, 0.5), st.floats(0.01, 3))
def test_what_stands_right_is_what_needs_no_move(place, position, orientation):
    tolerance = Tolerance(position, orientation)
    actual, target = scene(a=place), scene(a=(0.0, 0.0))
    assert bool(misplaced(actual, target, Tolerances(tolerance))) == bool(setup_moves(actual, target, tolerance))


def test_a_reason_that_several_objects_share_is_said_once():
    assert doubts_in_words({"red_mug": "hidden", "cup": "dark", "lemon": "hidden"}) == (
        "red mug, lemon: hidden",
        "cup: dark",
    )
    assert doubts_in_words({"red_mug": "The picture is dark.", "cup": "The picture is dark."}) == (
        "The picture is dark.",
    )
    assert doubts_in_words({"red_mug": "hidden"}) == ("red mug: hidden",)


def test_a_person_is_asked_to_open_a_drawer_and_to_pull_another_so_far():
    models = with_parts([CABINET])
    task = SimpleNamespace(
        backdrop=None, store=None, scenes=SimpleNamespace(outline=lambda model: CORNER, models=models)
    )
    present, target = cabinet_scene(middle_drawer=0.16), cabinet_scene(top_drawer=0.15, bottom_drawer=0.08)
    drawn = {move["name"]: move for move in TableMap(task).of(asked(present, target))["moves"]}
    assert {name: (move["words"], move["place"]) for name, move in drawn.items()} == {
        "top drawer of the brown cabinet": ("make it open", "15.0 cm"),
        "middle drawer of the brown cabinet": ("make it closed", "0.0 cm"),
        "bottom drawer of the brown cabinet": ("move it to 8.0 cm", "8.0 cm"),
    }
    assert all(move["from_outline"] != move["to_outline"] for move in drawn.values())
    wrong = misplaced(present, target, Tolerances(ALLOWED))
    assert wrong["brown_cabinet/top_drawer"] == "top drawer of the brown cabinet is 15.0 cm off, allowed is 1.0 cm"
