"""Recorded trials under other thresholds: what is said is true, and what cannot be known is not said."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from trial_bags import play, record_trial
from vln_scenes import APARTMENT as NAVIGATION

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.analysis.rescoring.thresholds import OtherTask, Thresholds, load_other, rescore
from robocontrast_ros.analysis.tables.rescoring import (
    RESCORED_COLUMNS,
    rescored_means,
    rescored_table,
    write_scores,
)
from robocontrast_ros.bags.reader import TrialRecording
from robocontrast_ros.configuration import ConfigurationError, load_configured, read_yaml
from robocontrast_ros.configuration.loading import share_directory
from robocontrast_ros.domain import Fault, Pose, Scene, Trial, TrialResult
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.tasks.protocol import Infeasible, Plan, Task

CONFIG = share_directory() / "config" / "tasks"
TASK_FILE = CONFIG / "language_table.yaml"
TASK = load_configured("tasks", TASK_FILE)
OWN = OtherTask(TASK, (), "")
FAMILIES = {
    "block_to_block": "block_to_block.within={:.3f}",
    "block_to_relative_location": "block_to_relative_location.within={:.3f}",
    "block_to_block_relative_location": "block_to_block_relative_location.within={:.3f}",
}


def other(*settings: str) -> OtherTask:
    return load_other(Thresholds.parse(None, settings), TASK_FILE)


def make_trial(seed: int, family: str | None = None) -> Trial:
    instance = TASK.sample(np.random.default_rng(seed), f"x-{seed}", family)
    return Trial(0, instance.instance_id, "base", 0, instance, seed)


@dataclass(frozen=True)
class Lived:
    """A trial as it went live: its recording, and its control steps."""

    recording: TrialRecording
    samples: tuple[Sample, ...]

    @property
    def result(self) -> TrialResult:
        return self.recording.result

    def under(self, task: OtherTask, own: Task = TASK, stop_on_success: bool = True):
        return rescore(self.recording, self.samples, own, task, self.result, stop_on_success)


def live(
    task: Task,
    trial: Trial,
    moves: list[tuple[Scene, Pose]],
    *,
    stop_on_success: bool = True,
    fault: Fault = Fault.NONE,
    stopped: bool = False,
) -> Lived:
    """Run the loop of an episode on a robot whose way is laid down, with a task's thresholds and step limit.

    The fault, or the policy's own stop, comes after the last of the moves, if the trial gets as far.
    """
    start = trial.instance.scene
    made = task.make_instance(trial.instance.instance_id, trial.instance.instruction, start)
    scorer = EpisodeScorer.for_instance(task, made or trial.instance, start)
    samples, steps = [], 0
    for steps, (scene, tool) in enumerate(moves):
        sample = Sample((steps + 1) * 10**8, scene, tool)
        samples.append(sample)
        progress = scorer.update(sample)
        if (progress.success and stop_on_success) or steps == (trial.step_limit or task.step_limit):
            result = scorer.result(steps=steps)
            break
    else:
        result = scorer.result(fault, "", steps, 0, stopped)
    recording = TrialRecording(
        bag=Path("bag"),
        trial=trial,
        session="",
        robot="",
        policy="",
        task_digest="",
        start_scene=start,
        samples=tuple(samples),
        progress=(),
        result=result,
        result_stamp=samples[-1].stamp,
        counts={},
        broken="",
    )
    return Lived(recording, tuple(samples))


def same(a: object, b: object) -> bool:
    """The text of a float is exact, and NaN equals NaN."""
    return repr(a) == repr(b)


def scores(result: TrialResult) -> tuple[float, float, float]:
    return result.success, result.scores["spl"], result.scores["progress"]


def told(rescored_scores) -> tuple[float, float, float]:
    return rescored_scores.success, rescored_scores.spl, rescored_scores.progress


ENDINGS = st.sampled_from([{}, {"stopped": True}, {"fault": Fault.POLICY_RAISED}, {"fault": Fault.POLICY_TIMEOUT}])


@examples(30)
@given(seed=st.integers(0, 10**6), stops=st.booleans(), ending=ENDINGS)
def test_under_its_own_thresholds_a_trial_keeps_every_score_to_the_last_bit(seed, stops, ending):
    trial = make_trial(seed)
    lived = live(TASK, trial, play(TASK, trial, np.random.default_rng(seed)), stop_on_success=stops, **ending)
    rescored = lived.under(OWN, stop_on_success=stops)
    assert rescored.status == "known"
    assert same(told(rescored.low), scores(lived.result))
    assert same(told(rescored.high), scores(lived.result))
    assert same(told(rescored.before), scores(lived.result))
    assert rescored.steps == lived.result.steps


@examples(30)
@given(
    seed=st.integers(0, 10**6),
    family=st.sampled_from(sorted(FAMILIES)),
    within=st.sampled_from([0.02, 0.045, 0.09]),
    limits=st.sampled_from([(200, 200), (6, 200), (200, 6), (6, 3), (11, 11)]),
    stops=st.booleans(),
    ending=ENDINGS,
)
def test_what_is_said_to_be_known_is_what_would_have_been_and_else_it_lies_between_the_bounds(
    seed, family, within, limits, stops, ending
):
    own_task = other(f"step_limit={limits[0]}")
    new_task = other(FAMILIES[family].format(within), f"step_limit={limits[1]}")
    trial = make_trial(seed, family)
    # Deep into the goal, so that a trial that does not end at its edge goes on for some steps.
    deep = other(*(setting.format(0.01) for setting in FAMILIES.values())).task
    assume(isinstance(deep.planner.plan(trial.instance.instruction, trial.instance.scene), Plan))
    moves = play(deep, trial, np.random.default_rng(seed))
    recorded = live(own_task.task, trial, moves, stop_on_success=stops, **ending)
    rescored = recorded.under(new_task, own_task.task, stops)
    if rescored.status == "not_run":
        instance = trial.instance
        assert isinstance(new_task.task.make_instance("x", instance.instruction, instance.scene), Infeasible)
        return
    truth = scores(live(new_task.task, trial, moves, stop_on_success=stops, **ending).result)
    if rescored.status == "known":
        assert same(told(rescored.low), truth)
        assert same(told(rescored.high), truth)
    else:
        assert rescored.status == "censored"
        assert rescored.reason
        for least, value, most in zip(told(rescored.low), truth, told(rescored.high), strict=True):
            assert least <= value <= most


def pushed(trial: Trial) -> list[tuple[Scene, Pose]]:
    return play(TASK, trial, np.random.default_rng(0))


def test_a_looser_threshold_ends_the_trial_where_it_is_met(block_trial):
    lived = live(TASK, block_trial, pushed(block_trial))
    assert lived.result.success == 1.0
    looser = lived.under(other("block_to_block.within=0.09"))
    assert looser.status == "known"
    assert looser.steps < lived.result.steps
    assert looser.low.success == 1.0
    assert looser.optimal_path_length < block_trial.instance.optimal_path_length


def test_a_success_that_a_stricter_threshold_denies_is_censored_with_both_bounds(block_trial):
    lived = live(TASK, block_trial, pushed(block_trial))
    stricter = lived.under(other("block_to_block.within=0.02"))
    assert (stricter.status, stricter.reason) == ("censored", "it ended at success under its own thresholds")
    assert told(stricter.low) == (0.0, 0.0, 0.0)
    assert stricter.high.success == stricter.high.progress == 1.0
    longest = max(lived.result.scores["path_length"], stricter.optimal_path_length)
    assert stricter.high.spl == stricter.optimal_path_length / longest


def test_a_trial_that_went_on_after_success_tells_about_stricter_thresholds(block_trial):
    lived = live(TASK, block_trial, pushed(block_trial), stop_on_success=False)
    assert lived.under(other("block_to_block.within=0.01"), stop_on_success=False).status == "known"


def test_a_trial_that_ran_into_its_step_limit_is_censored_under_a_higher_one_alone(block_trial):
    tight = other("step_limit=4")
    lived = live(tight.task, block_trial, pushed(block_trial))
    assert lived.result.success == 0.0
    higher = lived.under(OWN, tight.task)
    assert (higher.status, higher.reason) == ("censored", "it ended at its own step limit of 4")
    assert higher.low.success == 0.0 and higher.high.success == 1.0
    lower = lived.under(other("step_limit=2"), tight.task)
    assert (lower.status, lower.steps, lower.low.success) == ("known", 2, 0.0)


def test_a_trial_with_a_step_limit_of_its_own_keeps_it_under_another_one_of_the_task(block_trial):
    trial = replace(block_trial, step_limit=4)
    lived = live(TASK, trial, pushed(trial))
    assert lived.result.steps == 4
    for limit in (2, 6, 300):
        rescored = lived.under(other(f"step_limit={limit}"))
        assert (rescored.status, rescored.steps, rescored.reason) == ("known", 4, "")
        assert same(told(rescored.low), scores(lived.result))


def test_a_step_limit_below_a_fault_of_the_policy_takes_the_fault_away(block_trial):
    lived = live(TASK, block_trial, pushed(block_trial)[:5], fault=Fault.POLICY_RAISED)
    assert lived.under(OWN).low.progress == lived.result.scores["progress"]
    shorter = lived.under(other("step_limit=3"))
    expected = live(other("step_limit=3").task, block_trial, pushed(block_trial))
    assert same(told(shorter.low), scores(expected.result))


def test_where_control_steps_cannot_be_told_apart_a_lower_limit_is_not_known(block_trial):
    lived = live(TASK, block_trial, pushed(block_trial)[:6], stopped=True)
    gappy = Lived(lived.recording, lived.samples[:2] + lived.samples[3:])
    rescored = gappy.under(other("step_limit=4"))
    assert (rescored.status, rescored.low.success, rescored.high.success) == ("censored", 0.0, 1.0)
    assert "control steps cannot be told apart" in rescored.reason


def test_an_instance_that_would_be_solved_at_its_start_is_in_no_mean_and_says_why(block_trial):
    rescored = live(TASK, block_trial, pushed(block_trial)).under(
        other("block_to_block.within=0.5", "block_to_block.start_beyond=0.6")
    )
    assert rescored.status == "not_run"
    assert "already fulfilled" in rescored.reason
    assert math.isnan(rescored.low.success) and math.isnan(rescored.high.success)


@pytest.fixture(scope="module")
def block_trial() -> Trial:
    """A block far enough from its target that thresholds matter."""
    for seed in range(100):
        trial = make_trial(seed, "block_to_block")
        source, target = (trial.instance.instruction.get(k) for k in ("source", "target"))
        gap = trial.instance.scene[source].pose.distance_to(trial.instance.scene[target].pose)
        if 0.25 < gap < 0.45:
            return trial
    raise AssertionError("none among a hundred")


def test_where_the_policy_has_to_stop_by_itself_another_reach_is_known(tmp_path):
    instance = NAVIGATION.sample(np.random.default_rng(1), "x", "arrangement_2")
    trial = Trial(0, "x", "base", 0, instance, 1)
    corners = np.array(instance.reference_path)
    moves = []
    for x, y in np.concatenate([np.linspace(a, b, 9)[:-1] for a, b in itertools.pairwise(corners)]):
        pose = Pose.planar(x, y)
        moves.append((Scene(instance.scene.objects, robot=pose), pose))
    lived = live(NAVIGATION, trial, moves, stopped=True)
    near = load_other(Thresholds.parse(None, ("reach=0.4",)), CONFIG / "studio_apartment.yaml")
    rescored = lived.under(near, NAVIGATION)
    assert rescored.status == "known"
    assert same(told(rescored.low), scores(live(near.task, trial, moves, stopped=True).result))
    assert rescored.optimal_path_length > instance.optimal_path_length


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["within"], ["`--set`", "'within'", "key=value, such as block_to_block.within=0.04"]),
        (["=3"], ["`--set`", "'=3'"]),
        (["block_to_block.within=[1"], ["--set block_to_block.within", "(line 1, column 3)", "valid YAML"]),
        (["block_to_block.within=near"], ["`block_to_block.within`", "'near'", "a number"]),
        (["block_to_block.within=-1"], ["`block_to_block.within`", "-1", "greater than 0"]),
        (["block_to_block.withn=1"], ["`block_to_block.withn`", "Did you mean 'within'"]),
        (["block_to_blok.within=1"], ["'block_to_blok'", "Did you mean 'block_to_block'"]),
        (["control_rate=5"], ["`control_rate`", "5", "10.0", "not in another world"]),
        (["tool.start=[0.2, 0, 0.01]"], ["`start_position`", "not in another world"]),
        (["task=vln"], ["with --set"]),
    ],
)
def test_a_setting_that_does_not_fit_is_named_with_what_was_expected(settings, words, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ConfigurationError) as error:
        other(*settings)
    for word in words:
        assert word in str(error.value)
    assert str(tmp_path) not in str(error.value), "the passing file is not the user's"


def test_the_file_of_another_task_is_refused(tmp_path):
    thresholds = Thresholds.parse(CONFIG / "studio_apartment.yaml", ())
    with pytest.raises(ConfigurationError, match=r"`task`: got 'vln', expected .* 'language_table'"):
        load_other(thresholds, TASK_FILE)
    with pytest.raises(ConfigurationError, match="a readable YAML file"):
        Thresholds.parse(tmp_path / "gone.yaml", ())


def test_another_file_and_settings_go_together_and_what_differs_is_said(tmp_path):
    file = tmp_path / "mine.yaml"
    content = read_yaml(TASK_FILE)
    content["block_to_block"]["within"] = 0.03
    file.write_text(yaml.safe_dump(content))
    found = load_other(Thresholds.parse(file, ("step_limit=50",)), TASK_FILE)
    assert [str(c) for c in found.changes] == ["step_limit: 200 -> 50", "block_to_block.within: 0.05 -> 0.03"]
    assert (found.task.step_limit, found.task.parameters.block_to_block.within) == (50, 0.03)
    assert read_yaml(file) == content


@pytest.fixture(scope="module")
def bags(tmp_path_factory) -> Path:
    """Bags without a run: successes at which the trial ended, one that is torn, one that is void."""
    folder = tmp_path_factory.mktemp("bags")
    digest = hashlib.sha256(TASK_FILE.read_bytes()).hexdigest()
    for seed in range(5):
        trial = make_trial(seed, "block_to_block")
        moves = [(s.scene, s.tool_pose) for s in live(TASK, trial, pushed(trial)).samples]
        record_trial(
            folder / f"{seed:04d}",
            TASK,
            trial,
            np.random.default_rng(seed),
            task_digest=digest,
            moves=moves,
            with_result=seed != 3,
            fault=Fault.ABORTED if seed == 4 else Fault.NONE,
        )
    return folder


def test_tables_say_what_is_censored_and_no_mean_hides_it(bags, tmp_path):
    thresholds = Thresholds.parse(None, ("block_to_block.within=0.03",))
    found = score_recorded(find_recorded([bags]), thresholds=thresholds)
    table = rescored_table(found)
    assert table["status"].to_list() == ["censored", "censored", "censored", "censored", "void"]
    assert table["reason"][3] == "its bag ends before it does"
    assert table["success"].null_count() == 5
    assert table["success_low"].to_list() == [0.0, 0.0, 0.0, 0.0, None]
    assert table["success_high"].to_list() == [1.0, 1.0, 1.0, 1.0, None]
    assert table["success_before"].to_list() == [1.0, 1.0, 1.0, None, None]
    assert json.loads(table["thresholds"][0]) == {"block_to_block.within": [0.05, 0.03]}
    base, everything = rescored_means(table)
    assert (base.perturbation, everything.perturbation) == ("base", "all")
    assert (base.trials, base.censored, base.left_out) == (4, 4, 1)
    assert (base.low.success, base.high.success, base.before.success) == (0.0, 1.0, 1.0)
    assert base.high.spl == pytest.approx(np.mean([s.rescored.high.spl for s in found[:4]]))

    files = write_scores(found, tmp_path / "out")
    assert [f.name for f in files] == ["scores.parquet", "scores.csv", "rescored.parquet", "rescored.csv"]
    assert pl.read_parquet(files[2]).equals(table)
    assert pl.read_parquet_metadata(files[2])["censored"] == RESCORED_COLUMNS["censored"][1]
    assert pl.read_csv(files[3])["spl_high"].to_list() == table["spl_high"].to_list()
    plain = pl.read_parquet(files[0])
    assert plain["complete"].to_list() == [True, True, True, False, True]
    assert plain["outcome"].to_list() == ["SUCCESS"] * 3 + ["UNKNOWN", "VOID"]
    assert plain["steps"][3] is None and plain["fault"][3] is None
    assert plain["problem"][3] == "it holds no trial_result, so outcome and fault are unknown"


def test_every_column_has_a_meaning_and_is_filled_by_some_trial(bags):
    found = score_recorded(find_recorded([bags]), thresholds=Thresholds.parse(None, ("step_limit=300",)))
    table = rescored_table(found)
    assert table.columns == list(RESCORED_COLUMNS)
    empty = {c for c in table.columns if table[c].null_count() == len(table)}
    assert empty == set()
