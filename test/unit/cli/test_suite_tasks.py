"""`robocontrast tasks list`, `export`, `check` and `new` of a suite: what is shown is what its files say."""

from __future__ import annotations

import csv
import json
from collections import Counter
from copy import deepcopy
from dataclasses import fields
from pathlib import Path

import cv2
import pytest
import yaml
from here import command_here
from shown_tables import shown_rows

from robocontrast_ros.analysis.tables.suite import COLUMNS, SuiteRow, rows_of
from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.configuration.strict_yaml import parse_yaml
from robocontrast_ros.tasks.composed import Group, leaves
from robocontrast_ros.tasks.suite.attributes import ATTRIBUTES, AXES, LABELS
from robocontrast_ros.tasks.suite.checks import SAID
from robocontrast_ros.tasks.suite.files import parse_tree
from robocontrast_ros.tasks.suite.skills import NAMES, SKILLS
from robocontrast_ros.tasks.suite.task import SHIPPED_SUITE

LISTED = ("name", "score", "label", "subtasks", "attributes", "skills", "default")
COUNTED = ("of the tasks", "number", "share [%]")


@pytest.fixture(scope="module")
def suite():
    return load_configured("tasks", resolve_uri(SHIPPED_SUITE))


@pytest.fixture(scope="module")
def plain(suite):
    """A shipped task of one subtask: put a thing, whose words name no place, into another one."""
    return next(
        task
        for task in suite.suite.values()
        if not isinstance(task.tree, Group)
        and task.tree.predicate == "In"
        and len(set(task.words.values())) == 2
        and not any(phrase.endswith(tuple(SAID)) for phrase in task.words)
    )


@pytest.fixture
def scene(plain, tmp_path):
    """A folder with the scene file of the task, with that task alone; and the file's content."""
    content = yaml.safe_load(plain.file.read_text(encoding="utf-8"))
    content["tasks"] = {"it": content["tasks"][plain.name.partition("/")[2]]}
    return tmp_path / "scenes" / "scene.yaml", content


def written(scene, change=lambda content: None, text=lambda text: text) -> Path:
    """Write the scene file with a change of its content or of its text; return it."""
    file, content = scene[0], deepcopy(scene[1])
    change(content)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text(yaml.safe_dump(content, sort_keys=False)), encoding="utf-8")
    return file


def test_the_shipped_tasks_are_listed_and_counted(suite):
    code, shown = command_here("tasks", "list")
    assert code == 0, shown
    names = [row[0] for row in shown_rows(shown, LISTED) if "/" in row[0]]
    assert names == list(suite.suite)
    counted = shown_rows(shown, COUNTED)
    total = len(suite.suite)
    kinds = Counter(task.difficulty.label for task in suite.suite.values())
    # The first group is of the difficulties.
    assert counted[1:4] == [[label, str(kinds[label]), f"{100 * kinds[label] / total:.1f}"] for label in LABELS]
    scenes = {task.file: task.scene for task in suite.suite.values()}
    mean = sum(task.difficulty.score for task in suite.suite.values()) / total
    assert f"{total} tasks in {len(scenes)} scenes. Mean score {mean:.2f}," in shown
    numbers = {row[0]: int(row[1]) for row in counted if row[1].isdigit()}
    rows = rows_of(suite)
    assert all(numbers[name] == sum(name in row.attributes for row in rows) for name in ATTRIBUTES)
    assert all(numbers[name] == sum(name in row.axes for row in rows) for name in AXES)
    assert all(numbers[name] == sum(name in row.skills for row in rows) for name in NAMES)


def test_filters_leave_those_tasks_that_are_all_of_this(suite):
    rows = rows_of(suite)
    example = next(row for row in rows if row.attributes)
    asked = ("--axis", example.axes[0], "--difficulty", example.label, "--attribute", example.attributes[0])
    code, shown = command_here("tasks", "list", *asked, "--skill", example.skills[0])
    assert code == 0, shown
    wanted = [
        row.name
        for row in rows
        if example.attributes[0] in row.attributes and row.label == example.label and example.skills[0] in row.skills
    ]
    assert [row[0] for row in shown_rows(shown, LISTED) if "/" in row[0]] == wanted
    code, shown = command_here("tasks", "list", "--scene", example.scene)
    assert code == 0
    assert {row[0].partition("/")[0] for row in shown_rows(shown, LISTED) if "/" in row[0]} == {example.scene}


def test_a_filter_that_no_task_passes_says_so(scene):
    file = written(scene, lambda content: content["tasks"]["it"].update(attributes=[]))
    assert command_here("tasks", "list", file, "--axis", "visual") == (0, "No task is all of this.\n")


@pytest.mark.parametrize("option", ["axis", "difficulty", "attribute", "skill", "scene"])
def test_an_unknown_value_of_a_filter_is_refused_by_name(option, scene):
    code, shown = command_here("tasks", "list", written(scene), f"--{option}", "nosuch")
    assert code == 2 and len(shown.splitlines()) == 1
    assert f"command line: `--{option}`: got 'nosuch', expected a known {option}: " in shown


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nosuch", "command line: `TASK`: got 'nosuch', expected a known task, or the path of a .yaml file: "),
        ("nosuch.yaml", "There is no file "),
        ("kitchen", "kitchen.yaml: `task`: got 'kitchen', expected a suite of tasks"),
    ],
)
def test_what_is_no_suite_is_refused(place, words):
    code, shown = command_here("tasks", "list", place)
    assert code == 2 and len(shown.splitlines()) == 1 and words in shown


def test_every_skill_follows_from_the_goal(suite):
    assert set(NAMES) == {
        *("pick", "put_in", "put_on", "stack", "put_beside", "take_out"),
        *("open", "close", "turn_on", "turn_off", "set_upright"),
    }
    models = suite.things.models
    for row, task in zip(rows_of(suite), suite.suite.values(), strict=True):
        stacking = [
            atom.predicate == "On" and all(models[task.scene[name].model].stackable for name in atom.arguments)
            for atom in leaves(task.tree)
        ]
        said = ["stack" if s else SKILLS[a.predicate] for s, a in zip(stacking, leaves(task.tree), strict=True)]
        assert row.skills == tuple(dict.fromkeys(said))


@pytest.mark.long
def test_a_picture_shows_each_scene_above_its_words(scene, tmp_path):
    file, picture = written(scene), tmp_path / "sheet.png"
    other = file.with_name("other.yaml")
    other.write_bytes(file.read_bytes())
    code, shown = command_here("tasks", "list", file.parent, "--picture", picture)
    assert code == 0 and f"picture: {picture}" in shown
    image = cv2.imread(str(picture))
    height, width, _ = image.shape
    assert width == 2 * 480 and height > 360
    left, right = image[:360, :480], image[:360, 480:]
    assert (left == right).mean() > 0.99 and left.std() > 20
    # Below: the name and the words, in black on white.
    assert (image[365:] > 250).mean() > 0.5 and (image[365:] < 60).any()


def test_a_file_in_each_format_has_all_about_every_task(suite, tmp_path):
    rows = rows_of(suite)
    for form in ("json", "csv", "latex"):
        code, shown = command_here("tasks", "export", "--format", form, "--output", tmp_path / form)
        assert code == 0 and f"tasks: {tmp_path / form}" in shown
    names = [column.name for column in COLUMNS]
    assert names == [field.name for field in fields(SuiteRow)]
    found = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert [list(one) for one in found] == [names] * len(rows)
    with (tmp_path / "csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for one, line, row, task in zip(found, lines, rows, suite.suite.values(), strict=True):
        assert parse_tree(parse_yaml(one["goal"], ""), "", "goal") == task.tree
        assert {name: one[name] for name in task.texts} == dict(task.texts)
        assert one["things"] == list(row.things) and line["things"] == ", ".join(row.things)
        assert line["goal"] == one["goal"] and int(line["score"]) == task.difficulty.score
    latex = (tmp_path / "latex").read_text(encoding="utf-8")
    assert r"\begin{longtable}" in latex
    body = latex.partition(r"\endlastfoot")[2].partition(r"\end{longtable}")[0].strip().splitlines()
    assert len(body) == len(rows) and all(line.count(" & ") == len(names) - 1 for line in body)


def test_without_a_file_the_tasks_are_printed(scene):
    code, shown = command_here("tasks", "export", written(scene))
    assert code == 0
    assert [one["name"] for one in json.loads(shown)] == ["scene/it"]
    code, shown = command_here("tasks", "export", "--format", "cvs")
    assert (
        code == 2 and "`--format`: got 'cvs', expected a known format: csv, json, latex. Did you mean 'csv'?" in shown
    )


def test_a_first_scene_is_right_and_is_not_written_over_another(tmp_path):
    file = tmp_path / "first.yaml"
    code, shown = command_here("tasks", "new", file)
    assert code == 0 and f"robocontrast tasks check {file}" in shown
    text = file.read_text(encoding="utf-8")
    code, shown = command_here("tasks", "check", file)
    assert code == 0 and "1 file, 0 wrong." in shown
    code, shown = command_here("tasks", "new", file)
    assert code == 2 and f"`FILE`: got '{file}', expected a file that does not exist. Use another name." in shown
    assert file.read_text(encoding="utf-8") == text
    code, shown = command_here("tasks", "new", tmp_path / "first.txt")
    assert code == 2 and "expected a name that ends in .yaml" in shown


def test_scenes_are_counted_beside_problems_of_the_kitchen(scene):
    file = written(scene)
    problem = next(resolve_uri("package://robocontrast_ros/config/kitchen/problems").glob("*.yaml"))
    code, shown = command_here("tasks", "check", file, problem, "--text-alone")
    assert code == 0, shown
    assert "2 files, 0 wrong." in shown
    assert [row[:2] for row in shown_rows(shown, ("what", "number", "which")) if row[0] == "files"] == [["files", "1"]]
    assert any(line.split()[:2] == ["tasks", "1"] for line in shown.splitlines())


def pose_of(content, name):
    return content["things"][name]["pose"]


def names_of(content):
    (task,) = content["tasks"].values()
    return task["goal"]["in"]


def other_thing(content):
    """Return a thing that is not in the goal: the last that is there."""
    return [name for name in content["things"] if name not in names_of(content)][-1]


def done(content):
    content["tasks"]["it"]["goal"] = {"outside_of": names_of(content)}


def misspelt(content):
    content["tasks"]["it"]["goal"] = {"inn": names_of(content)}


def unknown(content):
    content["tasks"]["it"]["goal"] = {"in": ["nosuch", names_of(content)[1]]}


def unknown_model(content):
    content["things"][names_of(content)[0]]["model"] = "nosuch"


def unknown_attribute(content):
    content["tasks"]["it"]["attributes"] = ["colour"]


def twice(content):
    content["tasks"]["it"]["attributes"] = ["spatial", "spatial"]


def spaced(content):
    content["things"]["my cube"] = {"model": "red_cube", "pose": [0.5, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0]}


def ambiguous(content):
    task = content["tasks"]["it"]
    task["instruction"]["vague"] = "put the object away"
    task["words"]["object"] = names_of(content)[:1]


def unnamed(content):
    task, (target, _) = content["tasks"]["it"], names_of(content)
    task["words"] = {phrase: names for phrase, names in task["words"].items() if names != [target]}


def said_twice(content):
    again = deepcopy(content["tasks"]["it"])
    again["goal"] = {"picked_up": names_of(content)[:1]}
    content["tasks"]["again"] = again


def overlapping(content):
    pose_of(content, names_of(content)[0])[:2] = pose_of(content, other_thing(content))[:2]


def floating(content):
    pose_of(content, names_of(content)[0])[2] += 0.05


def far_away(content):
    pose_of(content, names_of(content)[0])[:2] = [0.8, 0.0]


IT = "tasks.it."
BAD = {
    "done at the start": (done, IT + "goal", "which holds already", True),
    "unknown predicate": (misspelt, IT + "goal", "Did you mean 'in'?", True),
    "unknown object": (unknown, IT + "goal", "'nosuch'", True),
    "unknown model": (unknown_model, "things.", "a known object", True),
    "an attribute twice": (twice, IT + "attributes.1", "each attribute once", True),
    "a name with a space": (spaced, "things", "a name of letters, digits and `_`", True),
    "unknown attribute": (unknown_attribute, IT + "attributes.0", "Did you mean 'color'?", True),
    "ambiguous words": (ambiguous, IT + "words.object", "Use words that fit nothing else.", True),
    "a thing without words": (unnamed, IT + "words", "which the goal is about", True),
    "two goals with the same words": (said_twice, "tasks.again.instruction.default", "ask for", True),
    "overlapping": (overlapping, "things.", "inside '", True),
    "unsettled": (floating, "things.", "from which it moves", False),
    "unreachable": (far_away, IT + "goal", "outside the region", False),
}
"""What is wrong -> the edit, the key, words of the message, and whether the suite does not load either."""


@pytest.mark.parametrize("wrong", BAD)
def test_a_scene_that_is_wrong_is_one_line_with_file_and_key(scene, wrong):
    edit, key, words, at_load = BAD[wrong]
    file = written(scene, edit)
    if beside := wrong == "unsettled":
        written((file.with_name("right.yaml"), scene[1]))
    code, shown = command_here("tasks", "check", file.parent)
    assert code == 2
    (error,) = [line for line in shown.splitlines() if line.startswith("error:")]
    assert error.startswith(f"error: {file}: `{key}") and words in error
    assert ("2 files, 1 wrong." if beside else "1 file, 1 wrong.") in shown
    code, shown = command_here("tasks", "list", file)
    assert (code, shown) == (2, f"{error}\n") if at_load else code == 0


def without_its_whole(content, part):
    del content["things"][part.partition("/")[0]]


def without_the_part(content, part):
    del content["things"][part]


def off_its_joint(content, part):
    pose_of(content, part)[2] += 0.01


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (without_its_whole, "expected a thing of the scene, for a name OBJECT/PART"),
        (without_the_part, "expected a thing with all its moving parts"),
        (off_its_joint, "got 'a place off its joint', expected a place on it, the nearest is ["),
    ],
)
def test_a_moving_part_belongs_to_a_thing_and_is_on_its_joint(suite, tmp_path, edit, words):
    file = next(task.file for task in suite.suite.values() if any(o.model in suite.things.parts for o in task.scene))
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    part = next(name for name in content["things"] if "/" in name)
    edit(content, part)
    bad = tmp_path / "scene.yaml"
    bad.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    code, shown = command_here("tasks", "list", bad)
    assert code == 2 and len(shown.splitlines()) == 1
    assert shown.startswith(f"error: {bad}: `things.{part.partition('/')[0]}") and words in shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (lambda text: text.replace("things:\n", "things:\n  oak_table: {}\n", 1), "'oak_table' twice (line "),
        (lambda text: text.replace("things:\n", "things: {\n", 1), "expected valid YAML"),
        (lambda text: text.replace("    goal:", "    gaol:", 1), "Did you mean `goal` instead of `gaol`?"),
    ],
)
def test_a_scene_that_cannot_be_read_is_one_line(scene, text, words):
    file = written(scene, text=text)
    code, shown = command_here("tasks", "check", file)
    assert code == 2
    (error,) = [line for line in shown.splitlines() if line.startswith("error:")]
    assert error.startswith(f"error: {file}: ") and words in error
    assert command_here("tasks", "list", file) == (2, f"{error}\n")
