"""Mistakes: what was done that the instruction does not ask for, and success without any."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace

import language_table_instances
import pytest
import vln_scenes
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT
from line_world import LineTask, line, to_place
from session_runs import Workplace
from tabletop_scenes import asked, scene, tabletop
from trial_bags import TRIAL_TOPICS, Messages
from typer.testing import CliRunner
from vln_scenes import APARTMENT

from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import BASE, Fault, Pose, TestInstance, Trial
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample, load_scores
from robocontrast_ros.episodes.scoring.clutter import LIFTED
from robocontrast_ros.episodes.scoring.events import OF_EVENTS
from robocontrast_ros.episodes.scoring.mistakes import LONGER, MOVED, OF_MISTAKES
from robocontrast_ros.episodes.scoring.motion import OF_MOTION
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve

TABLE = tabletop()
START = scene(red_cube=(0.42, 0.15), red_bowl=(0.42, -0.1), red_can=(0.55, 0.15), blue_cube=(0.6, 0.0))
PUT_IN = asked("put_in", "red_cube", "red_bowl")
THINGS = ("red_cube", "red_bowl", "red_can", "blue_cube")
PLANNED = 1.0
PERIOD = 100_000_000
X, Y, Z = TABLE.scenes.start_position


def trial_of(task=TABLE, instruction=PUT_IN, start=START, planned=PLANNED):
    return EpisodeScorer.for_instance(
        task, TestInstance("x", task.name, instruction, start, planned), start, scores=OF_MISTAKES
    )


def samples_of(scenes, driven):
    """Return control steps with these scenes, in which the tool drives a length in all [m]."""
    count = max(len(scenes), 1)
    return tuple(
        Sample((k + 1) * PERIOD, scene, Pose((X, Y, Z + driven * (k + 1) / count))) for k, scene in enumerate(scenes)
    )


def scored(*scenes, driven=0.0, fault=Fault.NONE, **trial):
    """Return both scores of a trial."""
    scorer = trial_of(**trial)
    for sample in samples_of(scenes, driven):
        scorer.update(sample)
    return tuple(scorer.result(fault, steps=len(scenes)).scores.values())


def shifted(names, distance, before=START):
    for name in names:
        x, y, z = before[name].pose.position
        before = before.moved(name, Pose((x + distance, y, z)))
    return before


def lifted(name, height, contacts):
    x, y, z = START[name].pose.position
    return replace(START.moved(name, Pose((x, y, z + height))), contacts=contacts)


# A cube in the bowl, held by nothing and at rest long enough, after it was lifted.
IN_BOWL = START.moved("red_cube", Pose((*START["red_bowl"].pose.xy, 0.01)))
SOLVED = (lifted("red_cube", 0.2, ("red_cube",)), *[IN_BOWL] * 20)


def test_a_trial_that_does_what_is_asked_has_no_mistake():
    assert scored(*SOLVED) == (0.0, 1.0)


@given(st.sets(st.sampled_from(THINGS)), st.floats(0.0, 0.03).filter(lambda d: abs(d - MOVED) > 1e-6))
def test_each_thing_but_the_target_counts_once_where_it_is_moved(names, distance):
    wrong = len(names - {"red_cube"}) if distance > MOVED else 0
    there = shifted(names, distance)
    assert scored(there, START, there) == (float(wrong), 0.0)


@given(st.sampled_from(THINGS), st.floats(0.0, MOVED - 1e-6), st.booleans())
def test_what_the_hand_lifts_counts_unless_it_is_the_target(name, height, touched):
    counts = touched and height > LIFTED and name != "red_cube"
    mistakes, _ = scored(lifted(name, height, (name,) if touched else ()))
    assert mistakes == float(counts)


@given(st.floats(0.0, 4.0).filter(lambda d: abs(d - LONGER) > 1e-6))
def test_a_path_that_is_too_long_is_one_mistake(driven):
    assert scored(*[START] * 3, driven=driven)[0] == float(driven > LONGER * PLANNED)


@given(
    st.lists(st.tuples(st.sampled_from(THINGS), st.floats(-0.05, 0.05)), min_size=1, max_size=6),
    st.floats(0.0, 3.0),
    st.integers(0, 22),
)
def test_mistakes_are_never_taken_back_and_none_is_made_after_the_success(moves, driven, when):
    scenes = [*SOLVED, *[IN_BOWL] * 3]
    for name, by in moves:
        scenes[when] = shifted([name], by, scenes[when])
    scorer, counts, over = trial_of(), [], []
    for sample in samples_of(scenes, driven):
        counts.append(scorer.update(sample).scores["mistakes"])
        over.append(scorer.succeeded)
    assert counts == sorted(counts)
    if any(over):
        assert set(counts[over.index(True) :]) == {counts[-1]}
    result = scorer.result(steps=len(scenes))
    wanted = float(any(over) and counts[-1] == 0.0)
    assert list(result.scores.values()) == [counts[-1], wanted]


def test_a_mistake_before_the_success_spoils_it_and_one_after_it_does_not():
    wrong = shifted(["blue_cube"], 0.02)
    assert scored(wrong, *SOLVED) == (1.0, 0.0)
    assert scored(*SOLVED, shifted(["blue_cube"], 0.02, IN_BOWL)) == (0.0, 1.0)


def test_a_fault_of_the_policy_is_no_success_and_a_trial_that_goes_on_is_not_known():
    assert scored(*SOLVED, fault=Fault.POLICY_RAISED) == (0.0, 0.0)
    scorer = trial_of()
    for sample in samples_of(SOLVED[:3], 0.0):
        assert scorer.update(sample).scores == {"mistakes": 0.0}
    unfinished = scorer.unfinished(3).scores
    assert unfinished["mistakes"] == 0.0 and math.isnan(unfinished["success_without_mistakes"])


@pytest.mark.parametrize(
    ("scenes", "trial"),
    [
        ([START, None, START], {}),
        ([START], {"planned": math.nan}),
    ],
)
def test_what_is_not_known_is_not_a_number_for_failures_too(scenes, trial):
    assert all(map(math.isnan, scored(*scenes, **trial)))


def test_a_task_that_does_not_say_what_is_handled_has_no_such_score():
    task = LineTask()
    assert task.handling is None
    instruction, start = to_place("a", "left"), line(a=0.3, b=0.5, c=0.7, d=0.9)
    assert all(map(math.isnan, scored(start, task=task, instruction=instruction, start=start)))


def test_on_the_board_the_source_alone_may_be_moved():
    base = language_table_instances.instance(3)
    source = base.instruction.get("source")
    for name in base.scene.names:
        there = shifted([name], 0.011, base.scene)
        mistakes, _ = scored(there, task=EIGHT, instruction=base.instruction, start=base.scene, planned=10.0)
        assert mistakes == float(name != source)


def test_a_driving_robot_may_touch_the_two_places_and_nothing_else():
    base = vln_scenes.instance(2)
    named = APARTMENT.planner.named(base.instruction)
    places = {o.name for o in base.scene if o.model in named}
    others = set(base.scene.names) - places
    assert places and others
    still = (base.scene, base.scene)

    def mistakes(*contacts):
        touched = replace(base.scene, contacts=contacts)
        wrong, _ = scored(
            *still, touched, *still, touched, task=APARTMENT, instruction=base.instruction, start=base.scene
        )
        return wrong

    assert mistakes(*places) == 0.0
    assert mistakes(*others, *places) == float(len(others))
    assert mistakes("wall") == 1.0


def test_a_bag_gives_the_same_mistakes(tmp_path):
    steps = samples_of((shifted(["blue_cube"], 0.02), *SOLVED), 4.0)
    instance = TestInstance("x", TABLE.name, PUT_IN, START, PLANNED)
    messages, trial = Messages(), Trial(0, "x", BASE, 0, instance, 7)
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/trial", 0, messages.cdr(messages.trial(trial, START, 0)))
        for sample in steps:
            writer.write("/eval/scene", sample.stamp, messages.cdr(messages.scene(sample.scene, sample.stamp)))
            pose = messages.tool_pose(sample.tool_pose, sample.stamp)
            writer.write("/eval/tool_pose", sample.stamp, messages.cdr(pose))
    recording = read_trial(tmp_path / "bag")
    live, again = (
        trial_of(),
        EpisodeScorer.for_instance(TABLE, recording.trial.instance, recording.start_scene, scores=OF_MISTAKES),
    )
    assert [live.update(s).scores for s in steps] == [again.update(s).scores for s in recording.samples]
    assert live.result().scores == again.result().scores == {"mistakes": 2.0, "success_without_mistakes": 0.0}


NAMES = [score.spec.name for score in OF_MISTAKES]


def test_a_session_may_add_them_by_their_names():
    assert load_scores(LineTask(), NAMES, "session.yaml")[-2:] == OF_MISTAKES


@pytest.mark.parametrize(
    ("task", "robot", "policy", "seed"),
    [
        ("language_table", "franka", "oracle", 2),
        pytest.param("tabletop", "franka_hand", "tabletop_oracle", 1, marks=pytest.mark.long),
    ],
)
def test_the_oracle_makes_no_mistake_and_the_bags_say_so_too(tmp_path, task, robot, policy, seed):
    place = Workplace(tmp_path)
    # The tool on the board reports no contacts.
    events = [score.spec.name for score in OF_EVENTS if task == "tabletop" or not score.needs_contacts]
    motion = [score.spec.name for score in OF_MOTION]
    content = {"task": task, "robot": robot, "policy": policy, "seed": seed, "test_set": {"size": 2}}
    content["scores"] = [*NAMES, *events, *motion]
    recording = {"images": False}
    session = resolve(str(place.session(**content, recording=recording, cameras=[])))
    run = session.new_run(1_790_000_000.0)
    bench = open_bench(session, recorder=trial_recorder(session, run))
    try:
        run_session(session.evaluation(), bench, run.journal)
    finally:
        bench.close()
    trials = [event for event in read_journal(run.journal).events if isinstance(event, TrialFinished)]
    assert [[trial.result.scores[name] for name in NAMES] for trial in trials] == [[0.0, 1.0]] * 2
    for scores in (trial.result.scores for trial in trials):
        assert {name: scores[name] for name in events} == dict.fromkeys(events, 0.0)
        sparc, mean, peak, jerk, tracking = (scores[name] for name in motion)
        assert sparc < -1.0 and 0.0 < mean < peak < 1.0 and jerk > 0.0 and 0.0 < tracking < 0.1
    told = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["score", str(run.path), "--processes", "1"])
    assert told.output == "2 of 2 trials: the scores from the bag are exactly the journal's.\n"
