"""Mistakes in problems of the kitchen: one line with the file, the place in it, the value and the cure, and code 2."""

from __future__ import annotations

import shutil

import pytest
from here import command_here

from robocontrast_ros.configuration import read_yaml, resolve_uri, write_yaml

CONFIG = "package://robocontrast_ros/config"
GOAL = "In bowl cabinet_top_region"

PROBLEM = {
    "name": "mine",
    "language": "put the bowl in the top drawer of the cabinet",
    "fixtures": {"table": "kitchen_table", "cabinet": "wooden_cabinet"},
    "objects": {"bowl": "akita_black_bowl", "plate": "plate"},
    "regions": [
        {"name": "cabinet_place", "target": "table", "ranges": [[0.68, 0.19, 0.69, 0.20]], "yaw": [3.14, 3.14]},
        {"name": "bowl_place", "target": "table", "ranges": [[0.42, -0.03, 0.44, -0.01]]},
        {"name": "plate_place", "target": "table", "ranges": [[0.42, -0.22, 0.44, -0.20]]},
        {"name": "top_region", "target": "cabinet"},
    ],
    "init": [
        "On cabinet table_cabinet_place",
        "On bowl table_bowl_place",
        "On plate table_plate_place",
        "Open cabinet_top_region",
    ],
    "goal": [GOAL],
}

BDDL = """(define (problem mine) (:domain robosuite) (:language open the top drawer of the cabinet)
  (:regions (place (:target table) (:ranges ((0.68 0 0.69 0.01))) (:yaw_rotation ((3.14 3.14))))
            (top_region (:target cabinet)))
  (:fixtures table - kitchen_table cabinet - wooden_cabinet) (:objects )
  (:init (On cabinet table_place) (Close cabinet_top_region))
  (:goal (And (Open cabinet_top_region))))
"""


def in_place(what, changed):
    """Return a change of one item of a list of the problem."""

    def change(problem):
        key, _, index = what.partition(".")
        if isinstance(changed, dict):
            problem[key][int(index)] |= changed
        else:
            problem[key][int(index) :] = [changed, *problem[key][int(index) + 1 :]]

    return change


def also(key, more):
    def change(problem):
        problem[key].update(more) if isinstance(more, dict) else problem[key].append(more)

    return change


@pytest.fixture
def told(tmp_path):
    """Run a command on a session with a task of one's own that has one problem; return what it says of its mistake."""
    folder = tmp_path / "problems"
    folder.mkdir()

    def say(*words, task=None, session=None):
        content = read_yaml(resolve_uri(f"{CONFIG}/tasks/kitchen.yaml")) | {"name": "mine", "problems": str(folder)}
        write_yaml(tmp_path / "mine.yaml", content | (task or {}))
        shipped = read_yaml(resolve_uri(f"{CONFIG}/sessions/kitchen_demo.yaml"))
        shipped |= {"task": str(tmp_path / "mine.yaml"), "test_set": {"size": 1}, **(session or {})}
        write_yaml(tmp_path / "session.yaml", shipped)
        code, shown = command_here(*words, tmp_path / "session.yaml")
        assert code == 2, shown
        (line,) = [line for line in shown.splitlines() if line.startswith("error:")]
        return line

    return folder, say


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (also("init", "Close cabinet_top_region"), "init.4", "expected one of the two: they cannot both hold"),
        (also("init", "On bowl table_plate_place"), "init.4", "expected one place for bowl. Take one of the two out."),
        (in_place("goal.0", "In cup cabinet_top_region"), "goal.0", "expected a declared fixture, object or region"),
        (in_place("goal.0", "Open cabinet_top_region"), "goal", "expected a goal that does not hold at the start"),
        (
            lambda problem: (
                problem.update(goal=["LeftOf bowl plate"], language="put the bowl to the left of the plate")
                or in_place("regions.1", {"ranges": [[0.43, -0.075, 0.43, -0.075]]})(problem)
                or in_place("regions.2", {"ranges": [[0.43, -0.21, 0.43, -0.21]]})(problem)
            ),
            "goal.0",
            "got '(LeftOf bowl plate)', expected a goal that does not hold in the scenes of `init`.",
        ),
        (
            lambda problem: (
                also("objects", {"bottle": "wine_bottle"})(problem) or also("init", "On bottle plate")(problem)
            ),
            "init.4",
            "got '(On bottle plate)', expected a place where 'bottle' stays, by at most 30 mm: it goes ",
        ),
        (
            in_place("regions.2", {"ranges": [[0.42, -0.03, 0.44, -0.01]]}),
            "regions.2",
            "expected a place with room for 'plate', 12 mm beside 'bowl', which stands there. Make the region larger",
        ),
        (
            in_place("regions.1", {"ranges": [[0.68, 0.19, 0.69, 0.20]]}),
            "regions.1",
            "expected a place with room for 'bowl', 12 mm beside 'cabinet', which stands there.",
        ),
        (
            in_place("regions.0", {"ranges": [[0.68, 0.0, 1.69, 0.01]]}),
            "regions.0.ranges.0",
            "got '0.68 0 1.69 0.01', expected a place on the table: x from -0.25 to 0.95 m, y from -0.8 to 0.8 m",
        ),
        (
            in_place("regions.0", {"roll": [3.14, 3.14]}),
            "regions.0.roll",
            "got 'roll', expected a known key: name, ranges, rgba, target, yaw.",
        ),
        (in_place("init.1", "On bowl cabinet"), "init.1", "expected an object, or a region. Name a region of cabinet."),
        (
            lambda problem: (
                also("objects", {"bottle": "wine_bottle"})(problem)
                or in_place("init.2", "On bottle table_plate_place")(problem)
                or also("init", "On plate bottle")(problem)
            ),
            "init.4",
            "got 'bottle', expected something that holds things: it has neither a top nor a cavity.",
        ),
        (also("goal", "On plate cabinet_top_region"), "goal.1", "expected one atom: a problem of the kitchen has one"),
        (in_place("goal.0", "On bowl table_plate_place"), "goal.0", "nobody is asked to use a place on the table"),
        (also("objects", {"cup": "teacup"}), "objects.cup", "expected a place in init, such as (On cup REGION)."),
        (also("objects", {"plate": "teacup"}), "objects.plate", "expected a type that the kitchen can build: akita_"),
    ],
)
def test_a_mistake_in_a_problem_is_one_line_with_its_place_and_cure(told, change, key, words):
    folder, say = told
    problem = {name: value.copy() if isinstance(value, dict | list) else value for name, value in PROBLEM.items()}
    problem["regions"] = [dict(region) for region in problem["regions"]]
    change(problem)
    write_yaml(folder / "bowl.yaml", problem)
    line = say("plan")
    assert line.startswith(f"error: {folder}/bowl.yaml: `{key}`: got "), line
    assert words in line


def test_a_mistake_is_told_before_a_trial_too_and_one_in_bddl_by_its_line(told):
    folder, say = told
    write_yaml(folder / "bowl.yaml", PROBLEM)
    (folder / "open.bddl").write_text(BDDL.replace("(Close cabinet_top_region)", "(Open cabinet_top_region)"))
    line = say("evaluate", "--fast")
    assert line.startswith(f"error: {folder}/open.bddl:6:3: `:goal`: got '(Open cabinet_top_region)', expected a goal")


def test_what_is_wrong_with_a_scene_s_file_is_told_of_that_file(told):
    folder, say = told
    scene = {key: value for key, value in PROBLEM.items() if key not in ("goal", "language")}
    scene["init"] = [*scene["init"], "Close cabinet_top_region"]
    write_yaml(folder.parent / "scene.yaml", scene)
    problem = {"scene": "../scene.yaml", "goal": [GOAL], "language": PROBLEM["language"]}
    write_yaml(folder / "bowl.yaml", problem)
    assert say("plan").startswith(f"error: {folder}/../scene.yaml: `init.4`: got '(Close cabinet_top_region) and ")
    write_yaml(folder / "bowl.yaml", problem | {"goal": ["In cup cabinet_top_region"]})
    write_yaml(folder.parent / "scene.yaml", scene | {"init": PROBLEM["init"]})
    assert say("plan").startswith(f"error: {folder}/bowl.yaml: `goal.0`: got 'cup', expected a declared")


def test_models_problems_and_families_that_are_not_there_are_named(told, tmp_path):
    folder, say = told
    assert say("plan").startswith(f"error: {folder}: got 'no such file', expected a folder with files in .bddl or ")
    write_yaml(folder / "bowl.yaml", PROBLEM)
    line = say("plan", task={"problems": str(tmp_path / "nowhere")})
    assert line.startswith(f"error: {tmp_path}/mine.yaml: `problems`: got '{tmp_path}/nowhere', expected a folder of")
    (tmp_path / "things").mkdir()
    shutil.copy(resolve_uri(f"{CONFIG}/objects/kitchen/butter.yaml"), tmp_path / "things")
    line = say("plan", task={"things": str(tmp_path / "things")})
    assert line.startswith(
        f"error: {folder}/bowl.yaml: `fixtures.cabinet`: got 'wooden_cabinet', expected a type whose"
    )
    assert "model 'brown_cabinet' is missing. Add the model to the folder that the task's `things` names." in line
    line = say("plan", session={"test_set": {"size": 1, "families": ["close"]}})
    assert line.startswith(f"error: {tmp_path}/session.yaml: `test_set.families")
    assert "got 'close', expected a known family or problem of the task 'mine': bowl, put_in." in line
