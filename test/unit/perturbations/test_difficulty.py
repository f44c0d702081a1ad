"""Distracting, extreme and both: what they add and change, and what they leave as it is (seed 004, appendix E.1)."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import DISTRACTING, EIGHT, instance
from tabletop_scenes import CLUTTER_FILE, fresh, tabletop
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.domain import NotApplicable, Perturbed
from robocontrast_ros.perturbations.difficulty import (
    Distracting,
    DistractingParameters,
    Extreme,
    ExtremelyDistracting,
    ExtremelyDistractingParameters,
    ExtremeParameters,
)
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.tasks.language_table.planner import find_push
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import argument, named

FEW = ("banana", "bowl", "brick", "can", "cube", "golf_ball", "mug", "plate", "soup_can", "sponge", "tomato")
"""Things of several kinds, categories and colours: enough that some look alike."""

THINGS = fresh(CLUTTER_FILE, objects=FEW, distracting={"size": (80, 60)})
"""The table with them; small images are enough where no number is compared."""


class AmongBlocks(PerturbationContract):
    draws = 5

    def task(self):
        return DISTRACTING


class TestDistractingBlocks(AmongBlocks):
    def make(self):
        return Distracting()


class TestExtremeBlocks(AmongBlocks):
    def make(self):
        return Extreme()


class TestExtremelyDistractingBlocks(AmongBlocks):
    def make(self):
        return ExtremelyDistracting()


class AmongThings(PerturbationContract):
    draws = 3

    def task(self):
        return THINGS


class TestDistractingThings(AmongThings):
    def make(self):
        return Distracting()


class TestExtremeThings(AmongThings):
    def make(self):
        return Extreme()


class TestAnotherDestination(AmongThings):
    def make(self):
        return Extreme(ExtremeParameters(changes="destination"))


class TestExtremelyDistractingThings(AmongThings):
    def make(self):
        return ExtremelyDistracting()


def applied(perturbation, task, base, seed):
    answer = perturbation.apply(task, base, base.scene, np.random.default_rng(seed))
    return answer.instance if isinstance(answer, Perturbed) else None


@examples(15, quick=6)
@given(st.integers(0, 24), st.integers(0, 1000), st.integers(3, 4))
def test_blocks_that_are_added_look_like_what_is_named_and_are_in_nobodys_way(number, seed, count):
    base = instance(number, None, DISTRACTING)
    new = applied(Distracting(DistractingParameters(count=count)), DISTRACTING, base, seed)
    if new is None:
        return
    names = {base.instruction.get("source"), base.instruction.get("target")} - {None}
    added = [o for o in new.scene if o.name not in base.scene]
    assert len(added) == count and new.scene.objects[: len(base.scene.objects)] == base.scene.objects
    p = DISTRACTING.parameters
    push = find_push(DISTRACTING.goals.goal(base.instruction, base.scene), base.scene, p, p.tool.start[:2])
    for block in added:
        assert any(set(block.name.split("_")) & set(name.split("_")) for name in names)
        assert shapely.distance(shapely.LineString(push.path), shapely.Point(block.pose.xy)) > p.tool.radius
        assert p.board.contains(*block.pose.xy, margin=p.block_size.circumradius)
    assert DISTRACTING.planner.plan(base.instruction, new.scene).path == push.path
    assert DISTRACTING.language.parse(base.instruction.text, new.scene) == base.instruction
    assert dict(new.proof.measures)["distractors"] == len(base.scene.objects) - len(names) + count


@examples(15, quick=6)
@given(st.integers(0, 24), st.integers(0, 1000))
def test_an_extreme_block_stands_where_no_drawn_one_does(number, seed):
    base = instance(number, None, DISTRACTING)
    new = applied(Extreme(), DISTRACTING, base, seed)
    if new is None:
        return
    source, p = base.instruction.get("source"), DISTRACTING.parameters
    assert all(p.board.contains(*o.pose.xy, margin=p.board.margin) for o in base.scene)
    assert not p.board.contains(*new.scene[source].pose.xy, margin=p.board.margin)
    assert new.optimal_path_length > base.optimal_path_length
    moved = {o.name for o in base.scene if new.scene[o.name] != o}
    assert moved == {source, base.instruction.get("target")} - {None}


def test_blocks_that_are_to_be_separated_are_not_put_apart():
    base = instance(0, "separate_blocks", DISTRACTING)
    answer = Extreme().apply(DISTRACTING, base, base.scene, np.random.default_rng(0))
    assert answer == NotApplicable("blocks that are to be separated stand together, wherever that is")


@pytest.mark.parametrize("number", [0, 2, 4])
def test_things_that_are_added_look_like_what_is_named_and_leave_the_hand_its_room(number):
    task = THINGS
    base = task.sample(np.random.default_rng(number), "x", task.families[number])
    new = applied(Distracting(), task, base, number)
    if new is None:
        pytest.skip("none applied")
    looks = [task.library[base.scene[name].model] for name in named(base.instruction)]
    added = [o for o in new.scene if o.name not in base.scene]
    assert len(added) == 3
    for thing in added:
        model = task.library[thing.model]
        assert any(
            model.type == other.type or model.category == other.category or model.colour == other.colour
            for other in looks
        )
    before = task.planner.handling(base.instruction, base.scene)
    hand = shapely.Point(before.grasp.position[:2])
    assert all(shapes.footprint(task.library[o.model], o.pose).distance(hand) > 0 for o in added)
    assert task.premise(base.instruction, new.scene) is None


@pytest.mark.parametrize("number", [0, 2, 4])
def test_extreme_things_stand_at_the_edges_of_the_region(number):
    task = THINGS
    base = task.sample(np.random.default_rng(number), "x", task.families[number])
    new = applied(Extreme(), task, base, number)
    assert new is not None and new.optimal_path_length > base.optimal_path_length
    region = task.parameters.region
    target = argument(base.instruction, "target")
    area = shapes.footprint(task.library[new.scene[target].model], new.scene[target].pose)
    _, y_low, x_high, y_high = area.bounds
    assert region.x_max - x_high <= 0.05 + 1e-9
    assert min(region.y_max - y_high, y_low - region.y_min) <= 0.05 + 1e-9


def test_another_destination_bears_things_and_is_no_container():
    task = THINGS
    base = task.sample(np.random.default_rng(0), "x", "put_in")
    new = applied(Extreme(ExtremeParameters(changes="destination")), task, base, 0)
    reference = task.library[new.scene[new.instruction.get("reference")].model]
    assert reference.cavity is None and reference.top is not None and not reference.stackable
    assert new.instruction.get("target") == base.instruction.get("target")
    assert base.instruction.get("reference") not in new.scene
    assert new.instruction.family == "put_on"


@pytest.mark.parametrize("family", ["pick", "move_near", "put_on"])
def test_what_has_no_usual_destination_has_no_unusual_one(family):
    task = THINGS
    base = task.sample(np.random.default_rng(0), "x", family)
    answer = Extreme(ExtremeParameters(changes="destination")).apply(task, base, base.scene, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and "no destination" in answer.reason


def test_both_have_the_measures_of_both():
    base = instance(3, "block_to_block", DISTRACTING)
    new = applied(ExtremelyDistracting(), DISTRACTING, base, 3)
    measures = dict(new.proof.measures)
    assert set(ExtremelyDistracting.measures) <= set(measures)
    assert measures["path_before_m"] == base.optimal_path_length
    assert measures["path_after_m"] == new.optimal_path_length
    assert len(new.scene.objects) == len(base.scene.objects) + 3


def test_a_task_without_what_is_asked_for_is_not_supported():
    assert Extreme().supports(EIGHT) and not Distracting().supports(EIGHT)
    assert Extreme().supports(tabletop()) and not Distracting().supports(tabletop())
    destination = ExtremeParameters(changes="destination")
    assert Extreme(destination).supports(tabletop()) and not Extreme(destination).supports(EIGHT)
    assert not any(made().supports(APARTMENT) for made in (Distracting, Extreme, ExtremelyDistracting))


def test_more_distractors_than_there_are_is_refused_with_the_number_that_fits():
    with pytest.raises(ValueError, match="at most 8 distractors"):
        Distracting(DistractingParameters(count=9)).supports(DISTRACTING)
    with pytest.raises(ConfigurationError, match="count"):
        load_perturbation({"name": "distracting", "count": 2}, "session", "perturbations.0")


def test_each_way_has_a_name_and_axes_of_its_own():
    destination = ExtremelyDistractingParameters(count=5, changes="destination")
    made = [Extreme(), Extreme(ExtremeParameters(changes="destination")), ExtremelyDistracting(destination)]
    assert [(p.name, p.axes) for p in made] == [
        ("extreme", "SB"),
        ("extreme_destination", "LSB"),
        ("extremely_distracting_5_destination", "LSB"),
    ]


def test_nothing_is_made_harder_in_a_scene_that_a_trial_left():
    base = instance(0, "block_to_block", DISTRACTING)
    left = DISTRACTING.planner.plan(base.instruction, base.scene).final_scene
    for perturbation in (Distracting(), Extreme(), ExtremelyDistracting()):
        answer = perturbation.apply(DISTRACTING, base, left, np.random.default_rng(0))
        assert isinstance(answer, NotApplicable) and "the test instance itself" in answer.reason


def test_the_further_blocks_are_the_other_combinations():
    p = DISTRACTING.parameters
    assert len({*p.blocks, *p.further}) == 16
    assert math.isclose(p.distracting.margin, 0.04) and p.distracting.margin > p.block_size.circumradius
    base = instance(1, None, DISTRACTING)
    assert set(base.scene.names) == set(p.blocks) and base.scene == instance(1, None, EIGHT).scene


def test_the_task_with_further_blocks_is_the_task_with_a_name_of_its_own():
    changed = {"name": EIGHT.parameters.name, "distracting": None}
    assert replace(DISTRACTING.parameters, **changed) == EIGHT.parameters


@pytest.mark.parametrize("block", DISTRACTING.parameters.further)
def test_a_further_block_has_the_shape_and_the_colour_that_its_name_says(block):
    shape = next(b for b in EIGHT.parameters.blocks if b.split("_")[1] == block.split("_")[1])
    colour = next(b for b in EIGHT.parameters.blocks if b.split("_")[0] == block.split("_")[0])
    assert DISTRACTING.scenes.outline(block) == EIGHT.scenes.outline(shape)
    own, same = (
        resolve_uri(task.scenes.models[name]).read_text() for task, name in ((DISTRACTING, block), (EIGHT, colour))
    )
    assert re.search('rgba="[^"]*"', own)[0] == re.search('rgba="[^"]*"', same)[0]
    assert f'<mujoco model="{block}">' in own and f'<body name="{block}">' in own
