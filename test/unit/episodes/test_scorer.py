"""A trial scored control step by control step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scorers import sample_of, scorer_of

from robocontrast_ros.domain import Fault, ObjectState, Outcome, Pose, Scene
from robocontrast_ros.episodes.scoring import STANDARD_SPECS, EpisodeScorer

STEP = 100_000_000


@dataclass(frozen=True)
class Reach:
    """The block has to come within ``radius`` of a point."""

    x: float = 0.0
    y: float = 0.0
    radius: float = 0.05

    def distance(self, scene: Scene) -> float:
        away = math.dist(scene["block"].pose.xy, (self.x, self.y))
        return max(away - self.radius, 0.0)

    def satisfied(self, scene: Scene) -> bool:
        return self.distance(scene) == 0.0


def scene_at(x: float, y: float) -> Scene:
    return Scene((ObjectState("block", "red_moon", Pose.planar(x, y)),))


def make_scorer(block=(0.5, 0.0), start=(0.0, 0.0, 0.1), optimal=0.4, hold_steps=1, goal=None) -> EpisodeScorer:
    return scorer_of(goal or Reach(), scene_at(*block), start, optimal, hold_steps)


coordinates = st.floats(-1.0, 1.0)
points = st.tuples(coordinates, coordinates)
episodes = st.lists(st.tuples(points, points), min_size=1, max_size=12)


def play(scorer: EpisodeScorer, episode) -> list:
    return [
        scorer.update(sample_of((i + 1) * STEP, scene_at(*block), (*tool, 0.1)))
        for i, (block, tool) in enumerate(episode)
    ]


def test_the_path_is_the_sum_of_the_moves_from_the_start_position():
    scorer = make_scorer(start=(0.0, 0.0, 0.1))
    progress = play(scorer, [((0.5, 0.0), (0.3, 0.0)), ((0.5, 0.0), (0.3, 0.4)), ((0.5, 0.0), (0.3, 0.4))])
    assert [p.scores["path_length"] for p in progress] == pytest.approx([0.3, 0.7, 0.7])


def test_height_does_not_lengthen_the_path():
    scorer = make_scorer()
    scorer.update(sample_of(STEP, scene_at(0.5, 0.0), (0.3, 0.4, 0.9)))
    assert scorer.result().scores["path_length"] == pytest.approx(0.5)


def test_a_trial_that_reaches_its_goal_is_a_success_with_its_numbers():
    scorer = make_scorer(block=(0.55, 0.0), optimal=0.4)
    before, after = play(scorer, [((0.3, 0.0), (0.3, 0.0)), ((0.05, 0.0), (0.8, 0.0))])
    assert (before.success, after.success) == (False, True)
    assert before.stamp == STEP
    assert before.scores["progress"] == pytest.approx(0.5)
    result = scorer.result(steps=2, clamped_steps=1)
    assert result.outcome is Outcome.SUCCESS
    assert result.success == 1.0
    assert result.scores["spl"] == pytest.approx(0.5)
    assert result.scores["progress"] == 1.0
    assert result.scores["distance_to_goal"] == 0.0
    assert result.scores["path_length"] == pytest.approx(0.8)
    assert result.optimal_path_length == 0.4
    assert (result.steps, result.clamped_steps) == (2, 1)
    assert result.duration == 0.1
    assert result.final_scene == scene_at(0.05, 0.0)


def test_success_stays_when_the_goal_is_lost_again_but_progress_is_that_of_the_end():
    scorer = make_scorer(block=(0.55, 0.0))
    last = play(scorer, [((0.0, 0.0), (0.1, 0.0)), ((0.3, 0.0), (0.2, 0.0))])[-1]
    assert not last.success
    assert scorer.succeeded
    result = scorer.result()
    assert result.outcome is Outcome.SUCCESS
    assert result.scores["progress"] == pytest.approx(0.5)
    assert result.scores["distance_to_goal"] == pytest.approx(0.25)


def test_a_goal_that_has_to_be_held_counts_steps_in_a_row_only():
    scorer = make_scorer(hold_steps=3)
    inside, outside = ((0.0, 0.0), (0.1, 0.0)), ((0.4, 0.0), (0.1, 0.0))
    progress = play(scorer, [inside, inside, outside, inside, inside, inside])
    assert [p.success for p in progress] == [False, False, False, False, False, True]
    assert scorer.result().outcome is Outcome.SUCCESS


def test_a_trial_without_one_control_step_stands_where_it_began():
    result = make_scorer().result()
    assert result.outcome is Outcome.FAILURE
    assert [result.scores[name] for name in ("progress", "path_length", "spl")] == [0.0, 0.0, 0.0]
    assert result.duration == 0.0
    assert result.scores["distance_to_goal"] == pytest.approx(0.45)
    assert result.final_scene == scene_at(0.5, 0.0)


@pytest.mark.parametrize("stamp", [STEP, STEP - 1, 0])
def test_a_stamp_that_is_not_later_is_refused_and_changes_nothing(stamp):
    scorer = make_scorer()
    scorer.update(sample_of(STEP, scene_at(0.3, 0.0), (0.1, 0.0, 0.1)))
    before = scorer.result()
    with pytest.raises(ValueError, match="expected one later than 100000000 ns"):
        scorer.update(sample_of(stamp, scene_at(0.0, 0.0), (0.9, 0.0, 0.1)))
    assert scorer.result() == before


def test_a_scene_without_the_object_is_refused_by_name_and_changes_nothing():
    scorer = make_scorer()
    before = scorer.result()
    with pytest.raises(KeyError, match="no object 'block' in the scene"):
        scorer.update(sample_of(STEP, Scene(), (0.1, 0.0, 0.1)))
    assert scorer.result() == before


def test_what_cannot_be_scored_is_refused_before_the_trial():
    with pytest.raises(ValueError, match="hold_steps: got 0"):
        make_scorer(hold_steps=0)
    with pytest.raises(ValueError, match=r"optimal path length: got -1\.0"):
        make_scorer(optimal=-1.0)
    with pytest.raises(KeyError, match="no object 'block'"):
        scorer_of(Reach(), Scene(), (0.0, 0.0, 0.0), 0.4)


@pytest.mark.parametrize("fault", [f for f in Fault if f.of_policy])
def test_a_fault_of_the_policy_is_a_failure_even_in_a_trial_that_had_succeeded(fault):
    scorer = make_scorer(block=(0.55, 0.0))
    play(scorer, [((0.0, 0.0), (0.1, 0.0)), ((0.3, 0.0), (0.2, 0.0))])
    result = scorer.result(fault, "it broke", steps=2)
    assert (result.outcome, result.fault, result.detail) == (Outcome.POLICY_FAULT, fault, "it broke")
    assert (result.success, result.scores["spl"]) == (0.0, 0.0)
    assert result.scores["progress"] == pytest.approx(0.5)


@pytest.mark.parametrize("fault", [f for f in Fault if f.voids])
def test_a_fault_of_the_bench_voids_every_score(fault):
    scorer = make_scorer()
    play(scorer, [((0.0, 0.0), (0.1, 0.0))])
    result = scorer.result(fault)
    assert result.outcome is Outcome.VOID
    assert list(result.scores) == [spec.name for spec in STANDARD_SPECS]
    assert all(map(math.isnan, result.scores.values()))


@given(episode=episodes, optimal=st.floats(0.0, 2.0), hold_steps=st.integers(1, 3))
def test_every_score_stays_in_its_range(episode, optimal, hold_steps):
    scorer = make_scorer(optimal=optimal, hold_steps=hold_steps)
    for progress in play(scorer, episode):
        assert 0.0 <= progress.scores["progress"] <= 1.0
        assert progress.scores["distance_to_goal"] >= 0.0
    result = scorer.result()
    assert 0.0 <= result.scores["spl"] <= result.success <= 1.0
    assert result.success == float(result.outcome is Outcome.SUCCESS)


@given(episode=episodes)
def test_the_path_never_shrinks_and_is_no_shorter_than_the_straight_line(episode):
    lengths = [0.0, *(p.scores["path_length"] for p in play(make_scorer(), episode))]
    assert lengths == sorted(lengths)
    assert lengths[-1] >= math.hypot(*episode[-1][1]) - 1e-9


@given(tool=points)
def test_a_straight_path_to_success_has_full_spl_and_one_three_times_as_long_a_third(tool):
    straight = math.hypot(*tool)
    direct = make_scorer(optimal=straight)
    play(direct, [((0.0, 0.0), tool)])
    assert direct.result().scores["spl"] == pytest.approx(1.0)
    assume(straight > 1e-6)
    detour = make_scorer(optimal=straight)
    play(detour, [((0.5, 0.0), (-tool[0], -tool[1])), ((0.0, 0.0), tool)])
    assert detour.result().scores["spl"] == pytest.approx(1.0 / 3.0)


@given(episode=episodes, dx=coordinates, dy=coordinates)
def test_shifting_the_whole_world_changes_no_score(episode, dx, dy):
    here, there = make_scorer(), make_scorer((0.5 + dx, dy), (dx, dy, 0.1), goal=Reach(dx, dy))
    play(here, episode)
    play(there, [((bx + dx, by + dy), (tx + dx, ty + dy)) for (bx, by), (tx, ty) in episode])
    ours, theirs = here.result(), there.result()
    assert theirs.scores["path_length"] == pytest.approx(ours.scores["path_length"], abs=1e-9)
    assert theirs.scores["distance_to_goal"] == pytest.approx(ours.scores["distance_to_goal"], abs=1e-9)
    assert theirs.scores["progress"] == pytest.approx(ours.scores["progress"], abs=1e-8)


@given(episode=episodes, offset=st.integers(0, 10**18))
def test_the_time_of_day_changes_no_score(episode, offset):
    early, late = make_scorer(), make_scorer()
    for i, (block, tool) in enumerate(episode):
        early.update(sample_of(i * STEP, scene_at(*block), (*tool, 0.1)))
        late.update(sample_of(i * STEP + offset, scene_at(*block), (*tool, 0.1)))
    assert early.result() == late.result()


@given(episode=episodes)
def test_the_same_steps_give_the_same_floats(episode):
    first, second = make_scorer(), make_scorer()
    assert play(first, episode) == play(second, episode)
    assert first.result() == second.result()


def test_the_optimal_path_alone_decides_whether_spl_is_known():
    scorer = make_scorer(optimal=math.nan)
    play(scorer, [((0.0, 0.0), (0.1, 0.0))])
    result = scorer.result()
    assert result.success == 1.0
    assert math.isnan(result.scores["spl"])
    assert math.isnan(result.optimal_path_length)
