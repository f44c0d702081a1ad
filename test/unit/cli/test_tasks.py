"""`robocontrast tasks`: lines of what is wrong, a summary, what may be modified, and the exit code."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace

import pytest
from here import command_here
from kitchen_problems import BOWL_ON_PLATE
from shown_tables import shown_rows

from robocontrast_ros.tasks.bddl import Atom, Region, parse_bddl, read_problem, write_yaml_problem
from robocontrast_ros.tasks.bddl.modifications import KINDS

HEADINGS = ("what", "number", "which")


@pytest.fixture
def folder(tmp_path):
    """A folder with the same problem in BDDL and, in a folder in it, in YAML."""
    (tmp_path / "more").mkdir()
    (tmp_path / "bowl.bddl").write_text(BOWL_ON_PLATE)
    write_yaml_problem(tmp_path / "more" / "bowl.yaml", parse_bddl(BOWL_ON_PLATE, "bowl.bddl"))
    (tmp_path / "notes.txt").write_text("(")
    return tmp_path


def test_problems_in_bddl_and_yaml_are_counted_with_their_fixtures_objects_and_predicates(folder):
    code, shown = command_here("tasks", "check", folder, "--text-alone")
    assert code == 0, shown
    assert [row[:3] for row in shown_rows(shown, HEADINGS)[:5]] == [
        ["files", "2", "LIBERO_Kitchen_Tabletop_Manipulation 2"],
        ["fixtures", "4", "kitchen_table 2, wooden_cabinet 2"],
        ["objects", "6", "akita_black_bowl 4, plate 2"],
        ["predicates in init", "10", "On 6, In 2, Open 2"],
        ["predicates in goal", "2", "On 2"],
    ]
    assert "2 files, 0 wrong." in shown


def test_each_file_that_is_wrong_is_one_line_and_the_others_are_counted(folder):
    (folder / "done.bddl").write_text(
        BOWL_ON_PLATE.replace("(On akita_black_bowl_1 plate_1)", "(Open wooden_cabinet_1_top_region)")
    )
    (folder / "open.bddl").write_text(BOWL_ON_PLATE.replace("(Open w", "(Opne w"))
    code, shown = command_here("tasks", "check", folder, folder / "missing.bddl", "--text-alone")
    assert code == 2
    errors = [line for line in shown.splitlines() if line.startswith("error:")]
    assert len(errors) == 3
    assert (
        f"{folder}/done.bddl:31:3: `:goal`: got '(Open wooden_cabinet_1_top_region)', expected a goal that" in errors[0]
    )
    assert f"{folder}/open.bddl:29:6: `:init`: got 'Opne', expected a known predicate" in errors[1]
    assert "missing.bddl" in errors[2] and "Check the path." in errors[2]
    assert "5 files, 3 wrong." in shown and shown_rows(shown, HEADINGS)[0][:2] == ["files", "2"]


def test_a_type_that_the_kitchen_cannot_build_is_named(folder):
    (folder / "bowl.bddl").write_text(BOWL_ON_PLATE.replace("plate_1 - plate ", "plate_1 - ramekin "))
    code, shown = command_here("tasks", "check", folder / "bowl.bddl")
    assert code == 2
    assert "bowl.bddl:21:5: `:objects`: got 'ramekin', expected a type that the kitchen can build: akita_" in shown


def test_what_is_odd_is_a_note_and_no_mistake(folder):
    goal = "(On akita_black_bowl_1 plate_1)"
    (folder / "bowl.bddl").write_text(BOWL_ON_PLATE.replace(goal, f"{goal} (Open wooden_cabinet_1_top_region)"))
    code, shown = command_here("tasks", "check", folder / "bowl.bddl", "--text-alone")
    assert code == 0
    assert (
        "note: " in shown and "bowl.bddl: (Open wooden_cabinet_1_top_region) of the goal holds at the start." in shown
    )


def test_a_folder_without_problems_is_refused(tmp_path):
    code, shown = command_here("tasks", "check", tmp_path)
    assert code == 2 and "expected a folder with files in .bddl or .yaml" in shown


def test_a_command_that_is_nearly_right_is_named():
    code, shown = command_here("tasks", "chekc")
    assert code == 2 and "Did you mean 'check'?" in shown


@pytest.mark.parametrize("form", ["bowl.bddl", "more/bowl.yaml"])
def test_modifications_are_counted_by_kind_and_listed_with_the_reason_of_a_refusal(folder, form):
    code, shown = command_here("tasks", "modifications", folder / form, "--to", folder / "list.csv", "--free", "2")
    assert code == 0, shown
    rows = {row[0]: row[1:] for row in shown_rows(shown, ("modification", "number", "refused"))}
    with (folder / "list.csv").open() as file:
        found = list(csv.DictReader(file))
    problem = read_problem(folder / form)
    assert int(rows["all"][0]) == len(found) == len({row["holds_then"] for row in found})
    counts = Counter(row["modification"] for row in found)
    assert all(rows[kind][0] == str(counts[kind]) for kind in KINDS)
    assert all(
        int(rows[kind][1]) == sum(bool(r["refused"]) for r in found if r["modification"] == kind) for kind in KINDS
    )
    # The bowl comes on the plate, so nothing else may fill it; each thing may come to both free places.
    filled = [row for row in found if row["holds_then"].endswith(" plate_1)")]
    assert filled and all("(Free plate_1)" in row["refused"] for row in filled)
    assert counts["add"] >= 2 * len({row["holds_then"].split()[1] for row in found if "free_1" in row["holds_then"]})
    assert not any("Open wooden_cabinet_1_top_region" in row["holds_then"] for row in found), "it is open already"
    (table,) = (name for name, kind in problem.fixtures.items() if kind == "kitchen_table")
    assert {f"(On onion_1 {table}_free_{k})" for k in (1, 2)} <= {row["holds_then"] for row in found}


def test_a_goal_that_no_skill_brings_about_is_one_line(folder):
    text = BOWL_ON_PLATE.replace("(On akita_black_bowl_1 plate_1)", "(On wooden_cabinet_1 plate_1)")
    (folder / "in.bddl").write_text(text)
    code, shown = command_here("tasks", "modifications", folder / "in.bddl")
    assert code == 2 and len(shown.strip().splitlines()) == 1
    assert "in.bddl: `goal`: got 'no skill brings (On wooden_cabinet_1 plate_1)" in shown


def test_a_problem_without_a_table_is_one_line(folder):
    problem = read_problem(folder / "bowl.bddl")
    (table,) = (name for name, kind in problem.fixtures.items() if kind == "kitchen_table")
    # All stands on the top of the cabinet.
    regions = tuple(region for region in problem.regions if region.target != table)
    regions = (*regions, Region("side", "wooden_cabinet_1", ((0.0, 0.0, 0.1, 0.1),)))
    fixtures = {name: kind for name, kind in problem.fixtures.items() if name != table}
    places = {region.full_name for region in regions}
    kept = (a for a in problem.init if a.arguments[0] not in problem.fixtures and a.arguments[0] not in places)
    states = (a for a in problem.init if a.arguments[0] in places)
    init = (*(Atom("On", (a.arguments[0], "wooden_cabinet_1_top_side")) for a in kept), *states)
    write_yaml_problem(folder / "none.yaml", replace(problem, fixtures=fixtures, regions=regions, init=init))
    code, shown = command_here("tasks", "modifications", folder / "none.yaml")
    assert code == 2 and len(shown.strip().splitlines()) == 1
    assert "none.yaml: `fixtures`: got 'wooden_cabinet', expected a table: kitchen_table, living_room_table" in shown
