"""Distracting, extreme and both in the kitchen: what they add and change, and for what they say why not."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from kitchen_instances import BUILDABLE, every_kitchen, instance

from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.domain import NotApplicable, Perturbed, Pose
from robocontrast_ros.objects.views import SceneViews
from robocontrast_ros.perturbations.difficulty import (
    Distracting,
    DistractingParameters,
    Extreme,
    ExtremelyDistracting,
    ExtremeParameters,
)
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.goals import atom_of
from robocontrast_ros.tasks.kitchen.requests import carried, named
from robocontrast_ros.tasks.tabletop import shapes

TASK = every_kitchen()
MUG, BOWL = "living_room_6_red_mug_on_plate", "kitchen_5_bowl_on_cabinet"
MUGS = Kitchen(
    TASK.parameters,
    TASK.things,
    BUILDABLE,
    {name: TASK.skills[name] for name in (MUG, "living_room_6_white_mug_on_plate", "kitchen_3_turn_on_stove")},
)
DESTINATION = ExtremeParameters(changes="destination")


@pytest.fixture(autouse=True)
def without_images(monkeypatch):
    """Nothing is drawn, which takes longest."""
    monkeypatch.setattr(SceneViews, "image", lambda self, scene, camera: np.zeros((56, 56, 3), dtype=np.uint8))


class InTheKitchen(PerturbationContract):
    draws = 6

    def task(self):
        return MUGS


class TestDistractingInTheKitchen(InTheKitchen):
    def make(self):
        return Distracting()


class TestExtremeInTheKitchen(InTheKitchen):
    def make(self):
        return Extreme()


class TestAnotherDestinationInTheKitchen(InTheKitchen):
    def make(self):
        return Extreme(DESTINATION)


class TestExtremelyDistractingInTheKitchen(InTheKitchen):
    def make(self):
        return ExtremelyDistracting()


def answer(perturbation, name, seed=0):
    base = instance(name)
    return base, perturbation.apply(TASK, base, base.scene, np.random.default_rng(seed))


def applied(perturbation, name, seed=0):
    base, found = answer(perturbation, name, seed)
    assert isinstance(found, Perturbed), found.reason
    assert not TASK.predicates.holds(atom_of(found.instance.instruction), found.instance.scene)
    assert TASK.premise(found.instance.instruction, found.instance.scene) is None
    measures = dict(found.instance.proof.measures)
    assert measures["path_before_m"] == base.optimal_path_length
    assert measures["path_after_m"] == found.instance.optimal_path_length
    return base, found.instance, measures


def area(state):
    return shapes.footprint(TASK.things.models[state.model], state.pose)


@pytest.mark.parametrize("count", [3, 4])
def test_things_that_are_added_look_like_what_is_named_and_leave_the_hand_its_room(count):
    base, new, measures = applied(Distracting(DistractingParameters(count=count)), MUG)
    looks = [TASK.things.models[base.scene[name].model] for name in named(base.instruction)]
    things = [o for o in new.scene if o.name not in base.scene]
    assert len(things) == count and measures["alike"] >= count
    way = TASK.planner.handling(base.instruction, base.scene)
    for thing in things:
        model = TASK.things.models[thing.model]
        assert any(
            (model.type, model.category, model.colour)[k] == (other.type, other.category, other.colour)[k]
            for other in looks
            for k in range(3)
        )
        assert all(area(thing).distance(shapely.Point(end.position[:2])) > 0 for end in (way.grasp, way.place))
    assert new.instruction == base.instruction


@pytest.mark.parametrize("name", [MUG, BOWL, "kitchen_7_bowl_right_of_plate", "kitchen_4_bottle_in_bottom_drawer"])
def test_extreme_things_stand_at_the_edges_and_fixtures_where_they_were(name):
    base, new, measures = applied(Extreme(), name)
    assert measures["path_after_m"] > measures["path_before_m"] and measures["moved_m"] > 0
    moved = {o.name for o in base.scene if new.scene[o.name] != o}
    assert moved == {*named(base.instruction)} & {*carried(base.scene, TASK.things)}
    region = TASK.parameters.region
    for moving in moved:
        _, low, _, high = area(new.scene[moving]).bounds
        assert min(region.y_max - high, low - region.y_min) <= 0.05 + 1e-9
    sides = [new.scene[moving].pose.xy[1] > 0 for moving in moved]
    assert len(moved) == 1 or sides[0] != sides[1]
    assert new.instruction == base.instruction


def test_another_destination_is_a_box_or_a_tin_in_the_place_of_the_plate():
    base, new, measures = applied(Extreme(DESTINATION), MUG)
    reference = new.instruction.get("reference")
    model = TASK.things.models[new.scene[reference].model]
    assert new.instruction.family == "put_on" and new.instruction.get("target") == named(base.instruction)[0]
    assert model.category == "food" and model.top is not None and model.cavity is None
    assert named(base.instruction)[1] not in new.scene and reference not in base.scene
    assert measures["moved_m"] < TASK.parameters.drawing.settled
    end = TASK.planner.plan(new.instruction, new.scene).final_scene
    assert TASK.predicates.holds(Atom("On", named(new.instruction)), end)


@pytest.mark.parametrize(
    ("perturbation", "name", "reason"),
    [
        (Distracting(), "kitchen_1_open_top_drawer", "looks like a part on a joint"),
        (Extreme(), "kitchen_3_turn_on_stove", "it has no harder place"),
        (Extreme(DESTINATION), "kitchen_6_close_microwave", "it has no destination"),
        (Extreme(DESTINATION), BOWL, "the cabinet is a fixture"),
        (Extreme(DESTINATION), "living_room_6_pudding_left_of_plate", "put left has no destination of its own kind"),
        (ExtremelyDistracting(), "kitchen_1_open_top_drawer", "it has no harder place"),
        (Distracting(), "kitchen_4_bottle_on_rack", "things may stand there and leave the words clear"),
    ],
)
def test_what_does_not_apply_says_why(perturbation, name, reason):
    _, found = answer(perturbation, name)
    assert isinstance(found, NotApplicable) and reason in found.reason


def test_a_thing_that_bears_another_is_not_moved():
    base = instance("living_room_6_pudding_right_of_plate")
    (x, y, _), mug = base.scene["plate"].pose.position, base.scene["red_mug"].pose
    full = base.scene.moved("red_mug", Pose((x, y, TASK.things.models["white_side_plate"].top.z), mug.orientation))
    loaded = TASK.make_instance("x", base.instruction, full)
    found = Extreme().apply(TASK, loaded, full, np.random.default_rng(0))
    assert found == NotApplicable("the plate would be moved with what it bears")


def test_both_have_the_measures_of_both():
    _, new, measures = applied(ExtremelyDistracting(), MUG)
    assert set(ExtremelyDistracting.measures) <= set(measures)
    assert len(new.scene.objects) == len(instance(MUG).scene.objects) + 3
