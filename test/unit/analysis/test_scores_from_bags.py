"""Scores computed from the bags alone are the journal's, to the last bit."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from played_runs import DIGEST, TASK, make_trial, record_run
from trial_bags import kill, record_trial
from vln_scenes import APARTMENT, ARRANGEMENTS

from robocontrast_ros.analysis.rescoring import scores_from_bags
from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded, find_task
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.domain import Fault, Outcome, Pose, Scene, Trial

FAULTS = [Fault.NONE, Fault.POLICY_RAISED, Fault.ABORTED]


def exactly(result) -> str:
    """The text of a float is exact, and NaN equals NaN."""
    return repr(result)


def scores_of(path: Path):
    return score_recorded(find_recorded([path]), processes=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of three trials: a success, a fault of the policy, and one that was void yet recorded."""
    return record_run(tmp_path_factory.mktemp("runs") / "run", FAULTS)


@pytest.fixture
def copy(run, tmp_path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def test_the_bags_give_exactly_the_numbers_of_the_journal(run):
    scores = scores_of(run)
    assert [s.trial_id for s in scores] == ["0000", "0001", "0002"]
    assert [s.journal.outcome for s in scores] == [Outcome.SUCCESS, Outcome.POLICY_FAULT, Outcome.VOID]
    for score in scores:
        assert score.equal, (score.differences, score.problem)
        assert exactly(score.offline) == exactly(score.journal)
    assert 0.0 < scores[0].offline.scores["spl"] < 1.0


@examples(20, quick=8)
@given(
    seed=st.integers(0, 10**6),
    fault=st.sampled_from(FAULTS),
    epoch=st.sampled_from([0, 10**9, 1_700_000_000 * 10**9]),
)
def test_whatever_happens_in_a_trial_its_bag_gives_the_live_floats(tmp_path_factory, seed, fault, epoch):
    bag = tmp_path_factory.mktemp("bags") / "bag"
    played = record_trial(bag, TASK, make_trial(seed), np.random.default_rng(seed), fault=fault, epoch=epoch)
    assert exactly(scores_of(bag)[0].offline) == exactly(played.result)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), stray=st.floats(0.0, 0.3))
def test_a_mobile_robots_bag_gives_the_live_floats_with_its_ndtw_and_collisions(tmp_path_factory, seed, stray):
    instance = APARTMENT.sample(np.random.default_rng(seed), "x", ARRANGEMENTS[seed % len(ARRANGEMENTS)])
    rng = np.random.default_rng(seed)
    corners = np.array(instance.reference_path)
    moves = []
    for index, share in enumerate(np.linspace(0.0, len(corners) - 1.0, 30)):
        x, y = (np.interp(share, range(len(corners)), corners[:, axis]) + stray * rng.normal() for axis in (0, 1))
        contacts = ("couch",) if index % 7 == 3 else ()
        scene = Scene(instance.scene.objects, robot=Pose.planar(x, y, share), contacts=contacts)
        moves.append((scene, Pose.planar(0.0, 0.0)))
    bag = tmp_path_factory.mktemp("bags") / "bag"
    played = record_trial(bag, APARTMENT, Trial(0, "x", "base", 0, instance, 0), rng, moves=moves)
    assert played.result.scores["collisions"] > 0 and played.result.scores["ndtw"] > 0.0
    assert exactly(scores_of(bag)[0].offline) == exactly(played.result)


def test_a_number_that_differs_is_named_with_both_values(copy):
    line = (copy / "journal.jsonl").read_text().splitlines(keepends=True)
    spl = scores_of(copy)[0].journal.scores["spl"]
    line[1] = line[1].replace(repr(spl), repr(math.nextafter(spl, 1.0)))
    (copy / "journal.jsonl").write_text("".join(line))
    score = scores_of(copy)[0]
    assert not score.equal
    assert score.differences == (f"result.spl: journal {math.nextafter(spl, 1.0)!r}, bag {spl!r}",)


def test_a_bag_of_another_trial_is_noticed(copy):
    shutil.rmtree(copy / "bags" / "0000")
    shutil.copytree(copy / "bags" / "0001", copy / "bags" / "0000")
    score = scores_of(copy)[0]
    assert "trial.index: journal 0, bag 1" in score.differences


def test_a_bag_that_is_missing_is_a_problem_of_its_trial_alone(copy):
    shutil.rmtree(copy / "bags" / "0001")
    scores = scores_of(copy)
    assert [s.equal for s in scores] == [True, False, True]
    assert "0001: no such bag" in scores[1].problem
    assert scores[1].offline is None


def test_a_bag_that_was_not_closed_is_scored_and_said_to_be_broken(copy):
    kill(copy / "bags" / "0000")
    score = scores_of(copy)[0]
    assert not score.equal
    assert score.differences == ()
    assert "no metadata.yaml" in score.problem
    assert exactly(score.offline) == exactly(score.journal)


def test_a_trial_that_was_not_recorded_says_so(copy):
    path = copy / "journal.jsonl"
    path.write_text(path.read_text().replace('"bags/0002"', '""'))
    assert scores_of(copy)[2].problem == "the trial was not recorded"


def test_a_bag_that_ends_before_its_result_is_scored_as_far_as_it_goes_and_said_to_be_broken(tmp_path):
    played = record_trial(
        tmp_path / "bag", TASK, make_trial(0), np.random.default_rng(0), with_result=False, task_digest=DIGEST
    )
    (score,) = score_recorded(find_recorded([tmp_path / "bag"]))
    assert not score.equal
    assert not score.complete
    assert score.problem == "it holds no trial_result, so outcome and fault are unknown"
    # The scene after the end of the trial is there too, and nothing tells that it is one.
    assert score.scored_until == pytest.approx(1.3)
    assert score.offline.outcome is Outcome.UNKNOWN
    assert math.isnan(score.offline.success)
    assert math.isnan(score.offline.scores["spl"])
    assert score.offline.scores["path_length"] >= played.result.scores["path_length"] > 0.0


@examples(25, quick=10)
@given(share=st.floats(0.0, 1.0), closed=st.booleans())
def test_a_bag_torn_anywhere_gives_the_scores_of_what_there_is_and_never_an_exception(
    run, tmp_path_factory, share, closed
):
    bag = Path(shutil.copytree(run / "bags" / "0000", tmp_path_factory.mktemp("torn") / "0000"))
    (file,) = bag.glob("*.mcap")
    whole = file.stat().st_size
    if not closed:
        (bag / "metadata.yaml").unlink()
    with file.open("r+b") as stream:
        stream.truncate(round(share * whole))
    (score,) = score_recorded(find_recorded([bag]))
    untouched = file.stat().st_size == whole
    assert bool(score.problem) is not untouched
    if score.complete:
        assert exactly(score.offline) == exactly(scores_of(run)[0].offline)
    else:
        assert score.offline is None or score.offline.outcome is Outcome.UNKNOWN


def test_a_scene_without_the_object_of_the_instruction_is_a_problem_by_name(run, monkeypatch):
    bag = run / "bags" / "0000"
    recording = read_trial(bag)
    bare = replace(recording.samples[0], scene=replace(recording.samples[0].scene, objects=()))
    broken = replace(recording, samples=(bare, *recording.samples[1:]))
    monkeypatch.setattr(scores_from_bags, "read_trial", lambda bag: broken)
    assert "cannot be scored: no object 'red_moon' in the scene" in scores_of(bag)[0].problem


def test_a_bag_alone_finds_its_task_among_the_shipped_ones(run, tmp_path):
    alone = tmp_path / "some" / "where" / "0000"
    shutil.copytree(run / "bags" / "0000", alone)
    assert exactly(scores_of(alone)[0].offline) == exactly(read_trial(alone).result)


def test_a_task_that_was_changed_since_is_not_used(copy):
    recording = replace(read_trial(copy / "bags" / "0000"), task_digest="1" * 64)
    with pytest.raises(BagError, match=r"no parameter file of task 'language_table' with SHA-256 111111111111…"):
        find_task(recording)


def test_what_is_found_does_not_depend_on_how_it_is_named_and_each_bag_counts_once(run):
    bags = run / "bags"
    for paths, expected in (
        ([run], "012"),
        ([bags], "012"),
        ([bags / "0002", run, bags / ".." / "bags" / "0001"], "201"),
    ):
        trials = find_recorded(paths)
        assert [t.bag for t in trials] == [bags / f"000{number}" for number in expected]
        assert all(t.finished and t.finished.trial.trial_id == t.bag.name for t in trials)


def test_a_run_that_lost_its_journal_is_scored_by_its_bags(copy):
    (copy / "journal.jsonl").unlink()
    scores = scores_of(copy)
    assert [s.trial_id for s in scores] == ["0000", "0001", "0002"]
    assert all(score.equal and score.journal is None for score in scores)
    assert scores[0].trial == make_trial(0)


def test_a_folder_with_nothing_in_it_keeps_no_other_bag_from_being_scored(run, tmp_path):
    scores = score_recorded(find_recorded([tmp_path, run / "bags" / "0000"]))
    assert "no bag" in scores[0].problem
    assert scores[1].equal


@pytest.mark.parametrize("what", ["nowhere", "file", "empty", "somebody else's"])
def test_a_path_that_cannot_be_a_bag_is_one_sentence(tmp_path, monkeypatch, what):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "somebody else's").mkdir()

    def denied(folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    if what == "somebody else's":
        monkeypatch.setattr(Path, "iterdir", denied)
    words = {
        "empty": "neither a run folder nor a bag, and there is no bag in it",
        "somebody else's": "Permission denied.",
        "nowhere": "no such folder, expected a run folder or a bag",
        "file": "a file, expected a run folder or a bag",
    }
    with pytest.raises(BagError, match=re.escape(f"{tmp_path / what}: {words[what]}")):
        find_recorded([tmp_path / what])


@examples(8, quick=4)
@given(order=st.lists(st.integers(0, 2), min_size=1, max_size=5))
def test_each_bag_has_the_same_scores_whatever_is_scored_before_it(run, order):
    paths = [run / "bags" / f"{index:04d}" for index in order]
    whole = {score.bag: exactly(score) for score in scores_of(run)}
    scores = score_recorded(find_recorded(paths))
    assert [score.bag for score in scores] == list(dict.fromkeys(paths))
    assert all(exactly(score) == whole[score.bag] for score in scores)


def test_scores_do_not_depend_on_order_or_processes_and_a_process_that_dies_names_its_bag(copy, tmp_path):
    deadly = record_run(tmp_path / "deadly", [Fault.NONE], task="fatal_tasks:Deadly") / "bags" / "0000"
    paths = [copy / "bags" / "0002", copy / "bags" / "0000", copy / "bags" / "0001", deadly]
    calls = []
    scores = score_recorded(find_recorded(paths), processes=2, done=lambda: calls.append(None))
    assert len(calls) == 4
    alone = {score.bag: score for score in scores_of(copy)}
    for path, score in zip(paths, scores, strict=True):
        if path == deadly:
            assert score.problem.startswith(f"{path}: the process that scored it died")
        else:
            assert exactly(score) == exactly(alone[path])
