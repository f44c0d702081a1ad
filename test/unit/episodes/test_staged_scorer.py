"""Trials of a goal with stages: order, latches, stopping, collisions, the way that was taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorers import sample_of, scorer_of

from robocontrast_ros.domain import Fault, ObjectState, Outcome, Pose, Scene
from robocontrast_ros.episodes.scoring import EpisodeScorer
from robocontrast_ros.tasks.protocol import Holding, StagedGoal

STEP = 100_000_000
FIRST, SECOND = (2.0, 0.0), (2.0, 2.0)
ROUTE = ((0.0, 0.0), FIRST, SECOND)


@dataclass(frozen=True)
class Near:
    """The robot's base is within half a metre of a place."""

    place: tuple[float, float]

    def distance(self, scene: Scene) -> float:
        return max(math.dist(scene.robot.xy, self.place) - 0.5, 0.0)

    def satisfied(self, scene: Scene) -> bool:
        return self.distance(scene) == 0.0


@dataclass(frozen=True)
class Route(Near):
    """One place after the other; the last is the goal's own."""

    place: tuple[float, float] = SECOND
    subgoals: tuple[Near, ...] = (Near(FIRST), Near(SECOND))
    stop_required: bool = True
    reach: float = 0.5


def at(x: float, y: float, *contacts: str) -> Scene:
    return Scene(robot=Pose.planar(x, y), contacts=contacts)


def make_scorer(goal: Route | None = None, start: Scene | None = None, reference=ROUTE, **more) -> EpisodeScorer:
    start = start or at(0.0, 0.0)
    return scorer_of(goal or Route(), start, start.robot.position, 4.0, reference=reference, **more)


def drive(scorer: EpisodeScorer, *scenes: Scene) -> list:
    first = (scorer.last_stamp or 0) // STEP + 1
    return [scorer.update(sample_of((first + i) * STEP, s, s.robot.position)) for i, s in enumerate(scenes)]


def test_the_goal_of_these_tests_is_one_with_stages():
    assert isinstance(Route(), StagedGoal)
    assert not isinstance(Near(FIRST), StagedGoal)


def test_subgoals_in_order_give_a_half_and_then_the_whole():
    scorer = make_scorer()
    progress = drive(scorer, at(1.0, 0.0), at(*FIRST), at(2.0, 1.0), at(*SECOND))
    assert [p.scores["progress"] for p in progress] == [0.0, 0.5, 0.5, 1.0]
    assert [p.scores["subgoals_reached"] for p in progress] == [0, 1, 1, 2]
    assert [p.scores["distance_to_goal"] for p in progress] == pytest.approx([math.sqrt(5) - 0.5, 1.5, 0.5, 0.0])


def test_the_second_place_before_the_first_counts_for_nothing():
    scorer = make_scorer()
    drive(scorer, at(*SECOND))
    result = scorer.result(stopped=True)
    assert (result.outcome, result.subgoals) == (Outcome.FAILURE, 2)
    assert (result.scores["progress"], result.scores["subgoals_reached"]) == (0.0, 0.0)
    assert result.scores["distance_to_goal"] == 0.0
    last = drive(scorer, at(*FIRST), at(*SECOND))[-1]
    assert last.scores["progress"] == 1.0


def test_what_was_reached_stays_reached():
    scorer = make_scorer()
    drive(scorer, at(*FIRST), at(*SECOND), at(0.0, 0.0))
    result = scorer.result(stopped=True)
    assert (result.scores["progress"], result.scores["subgoals_reached"]) == (1.0, 2)
    assert result.outcome is Outcome.FAILURE, "the policy stopped where the goal does not hold"


def test_no_scene_makes_a_success_where_the_policy_has_to_stop():
    scorer = make_scorer()
    assert not any(p.success for p in drive(scorer, at(*FIRST), at(*SECOND), at(*SECOND)))
    assert not scorer.succeeded
    assert scorer.result(stopped=False).outcome is Outcome.FAILURE
    stopped = scorer.result(stopped=True)
    assert (stopped.outcome, stopped.success, stopped.scores["spl"]) == (Outcome.SUCCESS, 1.0, 1.0)
    assert stopped.stopped


def test_where_stopping_is_not_asked_for_the_last_subgoal_is_the_success():
    scorer = make_scorer(Route(stop_required=False))
    assert [p.success for p in drive(scorer, at(*SECOND), at(*FIRST), at(*SECOND))] == [False, False, True]
    assert scorer.succeeded
    drive(scorer, at(0.0, 0.0))
    assert scorer.result().outcome is Outcome.SUCCESS


def test_two_subgoals_in_one_place_are_reached_together():
    here = Route(FIRST, subgoals=(Near(FIRST), Near(FIRST)))
    assert drive(make_scorer(here), at(*FIRST))[-1].scores["subgoals_reached"] == 2


def test_a_subgoal_that_has_to_be_held_counts_steps_in_a_row():
    scorer = make_scorer(hold_steps=2)
    progress = drive(scorer, at(*FIRST), at(0.0, 0.0), at(*FIRST), at(*FIRST), at(*SECOND), at(*SECOND))
    assert [p.scores["subgoals_reached"] for p in progress] == [0, 0, 0, 1, 1, 2]


def test_a_fault_of_the_policy_fails_and_keeps_progress_and_a_fault_of_the_bench_voids_all_scores():
    scorer = make_scorer()
    drive(scorer, at(*FIRST), at(*SECOND))
    fault = scorer.result(Fault.POLICY_RAISED, stopped=True)
    assert (fault.outcome, fault.success) == (Outcome.POLICY_FAULT, 0.0)
    assert (fault.scores["spl"], fault.scores["progress"]) == (0.0, 1.0)
    void = scorer.result(Fault.SENSOR_LOST)
    assert all(map(math.isnan, void.scores.values()))


def test_beginning_to_touch_counts_and_touching_on_does_not():
    scorer = make_scorer(start=at(0.0, 0.0, "bed"))
    scenes = [("bed",), ("bed", "lamp"), (), ("lamp",), ("lamp", "walls"), ("bed",)]
    progress = drive(scorer, *(at(0.1 * i, 0.0, *touched) for i, touched in enumerate(scenes)))
    assert [p.scores["collisions"] for p in progress] == [0, 1, 1, 2, 3, 4]
    assert scorer.result().scores["collisions"] == 4


@given(st.lists(st.frozensets(st.sampled_from("abc")), max_size=8))
def test_each_thing_collides_as_often_as_it_appears_among_the_touched(touched):
    scorer = make_scorer()
    drive(scorer, *(at(0.0, 0.0, *sorted(names)) for names in touched))
    expected = sum(len(now - before) for before, now in zip([frozenset(), *touched], touched, strict=False))
    assert scorer.result().scores["collisions"] == expected


def test_the_reference_path_driven_exactly_has_an_ndtw_of_one():
    scorer = make_scorer()
    drive(scorer, *(at(0.1 * i, 0.0) for i in range(1, 21)), *(at(2.0, 0.1 * i) for i in range(1, 21)))
    assert scorer.result().scores["ndtw"] == pytest.approx(1.0, abs=1e-9)


def test_a_detour_lowers_ndtw_and_no_reference_path_means_none():
    scorer = make_scorer()
    drive(scorer, at(0.0, 2.0), at(*SECOND))
    assert 0.0 < scorer.result().scores["ndtw"] < 0.5
    assert math.isnan(make_scorer(reference=()).result().scores["ndtw"])


def test_a_goal_whose_reach_is_no_threshold_is_refused_before_the_trial():
    with pytest.raises(ValueError, match=r"threshold of nDTW: got 0\.0"):
        make_scorer(Route(reach=0.0))


def test_a_plain_goal_counts_as_one_subgoal_and_has_no_ndtw():
    scorer = make_scorer(Near(SECOND))
    drive(scorer, at(*SECOND))
    result = scorer.result()
    assert (result.subgoals, result.scores["subgoals_reached"], result.outcome) == (1, 1, Outcome.SUCCESS)
    assert math.isnan(result.scores["ndtw"])


@given(st.lists(st.tuples(st.floats(-1.0, 3.0), st.floats(-1.0, 3.0)), min_size=1, max_size=10), st.booleans())
def test_every_score_of_a_staged_trial_stays_in_its_range(places, stopped):
    scorer = make_scorer()
    progress = drive(scorer, *(at(*place) for place in places))
    reached = [p.scores["subgoals_reached"] for p in progress]
    assert reached == sorted(reached)
    result = scorer.result(stopped=stopped)
    assert 0.0 <= result.scores["spl"] <= result.success <= result.scores["progress"] <= 1.0
    assert 0.0 <= result.scores["ndtw"] <= 1.0
    assert result == scorer.result(stopped=stopped)


@dataclass(frozen=True)
class Held(Near):
    """Near, for a while, with the cup at rest."""

    holding: ClassVar[Holding] = Holding(3, ("cup",), 0.01)


def beside(x: float, cup: float) -> Scene:
    """Return the scene with the robot at x and a cup [m]."""
    return Scene((ObjectState("cup", "cup", Pose((cup, 0.0, 0.0))),), robot=Pose.planar(x, 0.0))


@pytest.mark.parametrize(
    ("cups", "reached"),
    [
        ([0.0, 0.0, 0.0], [0, 0, 1]),
        ([0.0, 0.005, 0.010], [0, 0, 1]),
        ([0.0, 0.0, 0.02, 0.02, 0.02], [0, 0, 0, 0, 0]),
        ([0.0, 0.0, 0.02, 0.02, 0.02, 0.02], [0, 0, 0, 0, 0, 1]),
        ([0.5, 0.5, 0.5, 0.5], [0, 0, 0, 1]),
    ],
)
def test_a_subgoal_that_has_to_be_held_counts_after_its_steps_at_rest(cups, reached):
    goal = Route(subgoals=(Held(FIRST),), stop_required=False)
    scorer = make_scorer(goal, start=beside(0.0, 0.0))
    progress = drive(scorer, *(beside(2.0, cup) for cup in cups))
    assert [p.scores["subgoals_reached"] for p in progress] == reached
    assert progress[-1].success == bool(reached[-1])


def test_a_subgoal_that_is_lost_is_held_anew_and_the_next_one_begins_after_it():
    goal = Route(subgoals=(Held(FIRST), Near(FIRST)), stop_required=False)
    scorer = make_scorer(goal, start=beside(0.0, 0.0))
    progress = drive(scorer, *(beside(x, 0.0) for x in (2.0, 2.0, 0.0, 2.0, 2.0, 2.0, 2.0)))
    assert [p.scores["subgoals_reached"] for p in progress] == [0, 0, 0, 0, 0, 1, 2]


def test_the_greater_of_the_judges_and_the_subgoals_steps_counts():
    goal = Route(subgoals=(Held(FIRST),), stop_required=False)
    scorer = make_scorer(goal, start=beside(0.0, 0.0), hold_steps=4)
    progress = drive(scorer, *[beside(2.0, 0.0)] * 4)
    assert [p.scores["subgoals_reached"] for p in progress] == [0, 0, 0, 1]


def test_no_control_step_is_too_few():
    with pytest.raises(ValueError, match=r"holding\.steps: got 0, expected at least 1 control step"):
        Holding(0)


def test_a_band_is_no_negative_distance():
    with pytest.raises(ValueError, match=r"holding\.leave: got -0\.1, expected at least 0 m"):
        Holding(leave=-0.1)
