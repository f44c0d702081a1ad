"""How long the state of a joint holds: a reading that wobbles about a threshold does not begin the count anew."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kitchen_instances import KITCHEN, instance

from robocontrast_ros.episodes.judging import goal_progress
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.tasks.kitchen.goals import KitchenGoal
from robocontrast_ros.tasks.kitchen.predicates import STATES

LEAVE, STEPS = KITCHEN.parameters.success.leave, KITCHEN.parameters.steps(KITCHEN.parameters.success.rest_time)
ROUNDING = 1e-9
"""Of a position that becomes the pose of a part, and again a position [m]."""

SKILLS = (
    "kitchen_1_open_top_drawer",
    "kitchen_6_close_microwave",
    "kitchen_3_turn_on_stove",
    "kitchen_8_turn_off_stove",
)
INSIDE, BAND, OUTSIDE = (
    st.floats(ROUNDING, 0.002),
    st.floats(ROUNDING - LEAVE, -ROUNDING),
    st.floats(-0.003, -LEAVE - ROUNDING),
)
"""How far a handle is within the state that is asked for, or beyond its bound [m]."""


class Joint:
    """The joint that a skill is about, and its goal."""

    def __init__(self, skill):
        self.drawn = instance(skill)
        self.goal = KITCHEN.goals.goal(self.drawn.instruction, self.drawn.scene)
        self._name = self.goal.subgoals[0].atom.arguments[0]
        self._joint = KITCHEN.things.joint(self.drawn.scene, self._name)
        state = next(s for s in self._joint.states if s.name == STATES[self.goal.subgoals[0].atom.predicate])
        outside = -1.0 if math.isfinite(state.least) else 1.0
        self._bound = state.least if outside < 0.0 else state.greatest
        self._step = outside * 0.01
        self._step *= 0.01 / self.goal.distance(self._at(self._bound + self._step))

    def _at(self, position):
        whole = self.drawn.scene[self._name.partition("/")[0]].pose
        return self.drawn.scene.moved(self._name, part_pose(whole, self._joint, position))

    def scene(self, within):
        """Return the scene in which the handle is so far within the state, or beyond its bound [m]."""
        return self._at(self._bound - within / 0.01 * self._step)

    def reached(self, readings, **holding):
        """Return after which of some readings the goal counts as reached."""
        (subgoal,) = self.goal.subgoals
        subgoal = replace(subgoal, holding=replace(subgoal.holding, **holding))
        judging = goal_progress(KitchenGoal((subgoal,), self.goal.reach), self.drawn.scene, 1)
        found = []
        for within in readings:
            judging.update(self.scene(within))
            found.append(judging.succeeded)
        return found


JOINTS = {skill: Joint(skill) for skill in SKILLS}
joints = st.sampled_from(SKILLS).map(JOINTS.get)


@pytest.mark.parametrize("skill", SKILLS)
def test_the_readings_of_these_tests_are_so_far_from_the_state(skill):
    for within in (0.001, -0.0004, -0.002):
        assert JOINTS[skill].goal.distance(JOINTS[skill].scene(within)) == pytest.approx(
            max(-within, 0.0), abs=ROUNDING
        )


@given(joints, INSIDE, st.lists(INSIDE | BAND, min_size=STEPS, max_size=STEPS))
def test_a_reading_that_wobbles_within_the_band_never_flips(joint, first, wobble):
    readings = [first, *wobble]
    assert joint.reached(readings) == [False] * (STEPS - 1) + [True] * 2


@given(joints, st.lists(INSIDE | OUTSIDE, max_size=30) | st.lists(INSIDE, min_size=STEPS, max_size=STEPS + 2))
def test_far_from_the_band_every_reading_is_judged_as_without_one(joint, readings):
    assert joint.reached(readings) == joint.reached(readings, leave=0.0)


@given(joints, st.lists(BAND, min_size=STEPS + 2, max_size=STEPS + 2))
def test_a_state_that_was_never_entered_is_not_left_late(joint, readings):
    assert not any(joint.reached(readings))


@given(joints, INSIDE, st.lists(BAND, max_size=STEPS - 2), OUTSIDE)
def test_beyond_the_band_the_count_begins_anew(joint, first, wobble, out):
    readings = [first, *wobble, out, *[first] * (STEPS - 1)]
    assert not any(joint.reached(readings)) and joint.reached([*readings, first])[-1]
