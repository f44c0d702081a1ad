"""Levels of generalisation: what is declared new is new, each level is reached, and an instance's level is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import DISTRACTING, instance
from tabletop_scenes import CLUTTER_FILE, TASK_FILE, tabletop

from robocontrast_ros.configuration import ConfigurationError, load_record, resolve_uri
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.domain import Scene
from robocontrast_ros.perturbations.difficulty import Distracting
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.tasks.levels import Level, Levels, level_of
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.scenes import objects_in_use, views_of

FILES = known_names("levels")
SHIPPED = {name: Levels.from_file(path) for name, path in FILES.items()}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_level_calls_new_is_not_in_training(name):
    levels = SHIPPED[name]
    train, tests = levels.train, levels.tests
    if Level.COMBINATION in tests:
        new = tests[Level.COMBINATION].looks
        assert new and new.isdisjoint(train.looks)
        assert {shape for shape, _ in new} <= train.shapes and {colour for _, colour in new} <= train.colours
    if Level.NOVEL in tests:
        new = tests[Level.NOVEL].looks
        assert new and new.isdisjoint(train.looks)
        assert all(shape not in train.shapes or colour not in train.colours for shape, colour in new)
    if Level.TASK in tests:
        assert tests[Level.TASK].families and tests[Level.TASK].families.isdisjoint(train.families)
    assert tests[Level.PLACEMENT].looks <= train.looks


def with_blocks(*blocks):
    return LanguageTable(replace(DISTRACTING.parameters, blocks=blocks, distracting=None))


@pytest.mark.parametrize(
    ("blocks", "family", "level"),
    [
        (("red_moon", "blue_cube", "green_pentagon"), "block_to_block", Level.PLACEMENT),
        (("red_moon", "blue_cube", "red_cube"), "block_to_block", Level.COMBINATION),
        (("red_moon", "blue_cube", "yellow_moon"), "block_to_block", Level.NOVEL),
        (("red_moon", "blue_cube", "red_star"), "block_to_block", Level.NOVEL),
        (("red_moon", "blue_cube", "red_star"), "separate_blocks", Level.TASK),
        (("red_moon", "blue_cube", "green_pentagon"), "separate_blocks", Level.TASK),
    ],
)
def test_every_level_of_the_blocks_is_reached(blocks, family, level):
    drawn = with_blocks(*blocks).sample(np.random.default_rng(0), "x", family)
    assert level_of(drawn, SHIPPED["language_table_split"], DISTRACTING.looks) is level


SPLIT = {
    level: LanguageTable.from_file(
        resolve_uri(f"package://robocontrast_ros/config/tasks/language_table_split_{level.value}.yaml")
    )
    for level in Level
}


@pytest.mark.parametrize("level", Level)
@examples(50)
@given(st.integers(0, 2**32 - 1))
def test_the_tasks_of_a_split_draw_the_level_that_their_names_say(level, seed):
    task = SPLIT[level]
    drawn = task.sample(np.random.default_rng(seed), "x")
    assert level_of(drawn, SHIPPED["language_table_split"], task.looks) is level
    assert len(drawn.scene.objects) == 6
    assert all(resolve_uri(uri).is_file() for uri in task.scenes.models.values())


@pytest.mark.parametrize("level", Level)
def test_each_block_of_a_split_shares_its_shape_and_its_colour_with_one_other_where_it_can(level):
    """So that an expression needs both, at every level."""
    looks = SPLIT[level].looks.values()
    for part in (0, 1):
        counts = [sum(look[part] == other[part] for other in looks) for look in looks]
        assert counts == [2] * 6


def tabletop_of(models):
    """Return the task with these models alone; in every scene all of them stand."""
    parameters = load_record(TabletopParameters, TASK_FILE)
    every = len(models), len(models)
    parameters = replace(parameters, objects=models, sampling=replace(parameters.sampling, objects=every))
    library = objects_in_use(parameters, str(TASK_FILE))
    return Tabletop(parameters, library, lambda scene: scene, views_of(parameters, library))


@pytest.mark.parametrize(
    ("objects", "family", "level"),
    [
        (("red_cube", "blue_cube", "banana", "white_bowl"), "pick", Level.PLACEMENT),
        (("red_cube", "blue_cube", "banana", "blue_bowl"), "pick", Level.COMBINATION),
        (("red_cube", "blue_cube", "banana", "screwdriver"), "pick", Level.NOVEL),
        (("red_cube", "blue_cube", "banana", "white_bowl"), "put_in", Level.TASK),
    ],
)
def test_every_level_of_the_things_is_reached(objects, family, level):
    task = tabletop_of(objects)
    drawn = task.sample(np.random.default_rng(0), "x", family)
    words = drawn.instruction.text.replace("dish", "bowl")
    said = replace(drawn, instruction=replace(drawn.instruction, text=words))
    assert level_of(said, SHIPPED["tabletop_split"], tabletop().looks) is level


def test_a_word_that_training_never_said_is_new():
    task = tabletop_of(("red_cube", "blue_cube", "banana", "white_bowl"))
    drawn = task.sample(np.random.default_rng(0), "x", "move_near")
    said = replace(drawn, instruction=replace(drawn.instruction, text="move the cube near the dish"))
    assert level_of(said, SHIPPED["tabletop_split"], task.looks) is Level.NOVEL


def test_the_level_says_what_is_new_to_a_shipped_policy():
    film_bc, base = SHIPPED["language_table"], instance(3, "block_to_block", DISTRACTING)
    assert "film_bc" in film_bc.policies
    assert level_of(base, film_bc, DISTRACTING.looks) is Level.PLACEMENT
    cluttered = Distracting().apply(DISTRACTING, base, base.scene, np.random.default_rng(3)).instance
    assert level_of(cluttered, film_bc, DISTRACTING.looks) is Level.COMBINATION
    task = tabletop(CLUTTER_FILE)
    drawn = task.sample(np.random.default_rng(0), "x", "pick")
    assert level_of(drawn, SHIPPED["tabletop"], task.looks) is Level.PLACEMENT
    other = {"name": "marble_table", "model": "marble_table"}
    marble = Scene(tuple(replace(o, **other) if o.model == "oak_table" else o for o in drawn.scene))
    assert level_of(replace(drawn, scene=marble), SHIPPED["tabletop"], task.looks) is Level.NOVEL


@examples(30)
@given(st.sets(st.sampled_from(sorted(DISTRACTING.looks)), min_size=2, max_size=8), st.integers(0, 4))
def test_a_level_never_falls_when_things_are_added(blocks, number):
    base, levels = instance(number, None, DISTRACTING), SHIPPED["language_table_split"]
    order = list(Level)

    def level(names):
        objects = tuple(replace(base.scene.objects[0], name=name, model=name) for name in names)
        return order.index(level_of(replace(base, scene=Scene(objects)), levels, DISTRACTING.looks))

    fewer = sorted(blocks)[:-1]
    assert level(fewer) <= level(sorted(blocks))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c["tests"].update(L2={"objects": ["red_moon"]}), "red_moon, which training has"),
        (lambda c: c["tests"].update(L2={"objects": ["red_star"]}), "red_star, of which training lacks"),
        (lambda c: c["tests"].update(L3={"objects": ["red_cube"]}), "a shape and a colour that training has"),
        (lambda c: c["tests"].update(L4={"families": ["block_to_block"]}), "block_to_block, which training has"),
        (lambda c: c["tests"].update(L1={"objects": ["red_cube"]}), "things or families that training has not"),
        (lambda c: c["tests"].update(L5={}), "L5"),
        (lambda c: c["train"].update(objects=["pink_cube"]), "pink_cube"),
        (lambda c: c["train"].update(families=["dance"]), "dance"),
        (lambda c: c.update(task="studio_apartment"), "a task whose things have a shape and a colour"),
    ],
)
def test_a_file_that_calls_new_what_is_not_is_refused(tmp_path, change, complaint):
    content = yaml.safe_load(FILES["language_table_split"].read_text())
    change(content)
    path = tmp_path / "levels.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigurationError) as refusal:
        Levels.from_file(path)
    assert complaint in str(refusal.value) and str(path) in str(refusal.value)


def test_all_four_levels_are_reached_by_both_splits_and_each_shipped_policy_has_one_file():
    for name in ("language_table_split", "tabletop_split"):
        assert list(SHIPPED[name].tests) == list(Level)
    named = [policy for levels in SHIPPED.values() for policy in levels.policies]
    assert len(named) == len(set(named))
    for policy in named:
        assert resolve_uri(f"package://robocontrast_ros/config/policies/{policy}.yaml").is_file()
