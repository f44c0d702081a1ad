"""How a run compares with the golden digests of its session."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from line_world import LineBench, line_evaluation, with_scores

from robocontrast_ros.analysis.data.golden import UNRELATED, Golden, compared, find_golden, golden_words, trial_digest
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.domain import Pose
from robocontrast_ros.runs.events import PolicyLoaded, SessionStarted, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.schema import SessionParameters

GOLDEN = {
    file.stem: Golden.load(file)
    for file in sorted((Path(__file__).resolve().parents[3] / "config" / "golden").glob("*.json"))
}
OF_SESSIONS = [name for name, golden in GOLDEN.items() if golden.session]


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "journal.jsonl"
    run_session(line_evaluation(test_set_size=3), LineBench(), path)
    return read_journal(path).events


@pytest.fixture
def golden(events):
    return Golden.of(RunRecord.of(events), "a command")


def with_trial(events, number, **scores):
    """Return the events with one finished trial's result changed."""
    places = [i for i, event in enumerate(events) if isinstance(event, TrialFinished)]
    event = events[places[number]]
    other = replace(event, result=with_scores(event.result, **scores))
    return [*events[: places[number]], other, *events[places[number] + 1 :]]


def with_start(events, **changes):
    return [replace(e, **changes) if isinstance(e, SessionStarted) else e for e in events]


def test_a_run_that_is_the_same_to_the_last_bit_is_said_to_be(events, golden):
    number = sum(isinstance(event, TrialFinished) for event in events)
    said = compared(RunRecord.of(events), golden)
    assert said == f"golden digest of this version: {number} of {number} trials are the same to the last bit"


def test_the_first_trials_alone_are_compared_where_only_they_were_run(events, golden):
    short = [*events[: next(i for i, e in enumerate(events) if isinstance(e, TrialFinished)) + 1]]
    assert "1 of 1 trials are the same" in compared(RunRecord.of(short), golden)


def test_one_bit_more_is_another_trial_and_it_is_named(events, golden):
    finished = [event for event in events if isinstance(event, TrialFinished)]
    longer = finished[2].result.scores["path_length"] * (1 + 2**-52)
    assert longer != finished[2].result.scores["path_length"]
    said = compared(RunRecord.of(with_trial(events, 2, path_length=longer)), golden)
    assert "the first that differs is 0002" in said
    assert f"{len(finished) - 1} of {len(finished)}" in said
    assert "Reason: not known" in said or "AVX2" in said


def test_a_scene_that_ended_elsewhere_is_another_trial(events):
    event = next(event for event in events if isinstance(event, TrialFinished))
    scene = event.result.final_scene
    moved = scene.moved(scene.names[0], Pose((9.0, 0.0, 0.0)))
    assert trial_digest(replace(event, result=replace(event.result, final_scene=moved))) != trial_digest(event)


def test_words_and_wall_clock_times_have_no_part_in_a_digest(events):
    event = next(event for event in events if isinstance(event, TrialFinished))
    other = replace(event, trial=replace(event.trial, note="other words"), wall_time=99.0, time=0.0)
    assert trial_digest(other) == trial_digest(event)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"versions": {"numpy": "0.1", "mujoco": "4.0"}}, "other versions, "),
        ({"machine": {"vectors": "avx", "processor": "Old"}}, "the processor has no AVX2 (Old)"),
        (
            {"machine": {"vectors": "avx2"}, "world": "MuJoCo; drawn by RTX 5090, OpenGL 4.6"},
            "images of another renderer, RTX 5090, OpenGL 4.6 for nothing drawn",
        ),
        ({"machine": {"vectors": "avx2", "libc": "musl"}}, "another C library, musl for "),
    ],
)
def test_a_difference_has_its_reason(events, golden, changes, reason):
    other = with_start(with_trial(events, 0, path_length=99.0), **changes)
    assert reason in compared(RunRecord.of(other), golden)


def test_a_renderer_s_vectors_are_no_difference(events):
    here = with_start(events, machine={"vectors": "avx2"}, world="MuJoCo; drawn by llvmpipe (LLVM 15, 512 bits)")
    there = with_start(events, machine={"vectors": "avx2"}, world="MuJoCo; drawn by llvmpipe (LLVM 15, 256 bits)")
    other = RunRecord.of(with_trial(here, 0, path_length=99.0))
    assert "another renderer" not in compared(other, Golden.of(RunRecord.of(there), ""))


def start_of(events, session, **overrides):
    """Return the start of a run of a shipped session."""
    started = next(event for event in events if isinstance(event, SessionStarted))
    resolved = resolve(session, Overrides(**overrides))
    return replace(started, session=resolved.parameters.name, parameters=resolved.snapshot())


@pytest.mark.parametrize("name", OF_SESSIONS)
def test_a_run_of_a_shipped_session_finds_its_golden_digests(events, name):
    golden = GOLDEN[name]
    assert find_golden(start_of(events, golden.session, policy=golden.policy)) == golden


def test_keys_that_no_trial_depends_on_are_named_as_in_the_session_s_file():
    assert {field.name for field in fields(SessionParameters)} >= UNRELATED


def test_what_only_changes_how_a_session_is_run_does_not_change_what_it_is_compared_with(events, tmp_path):
    other = {"operator.port": 8000, "watchdog.loop": 2.0, "recording.compression": "none", "timeouts.policy": 1.0}
    started = start_of(events, "language_table_demo", fast=True, max_trials=3, output=str(tmp_path), settings=other)
    assert find_golden(started) == GOLDEN["language_table_demo"]


@pytest.mark.parametrize("change", [{"seed": 8}, {"robot": "ur5e"}, {"policy": "oracle"}, {"budget": 3.0}])
def test_another_seed_robot_policy_or_budget_is_not_compared(events, change):
    assert find_golden(start_of(events, "language_table_demo", **change)) is None


def test_a_swapped_policy_is_not_compared(events):
    started = start_of(events, "language_table_demo")
    run = [started if isinstance(event, SessionStarted) else event for event in events]
    loaded = PolicyLoaded("film_bc_state", "", "", "one", 0.0, None, 0.0)
    assert "trials are the same" in golden_words(RunRecord.of([*run, loaded]))
    assert golden_words(RunRecord.of([*run, loaded, replace(loaded, digest="another")])) == ""


def test_nothing_is_said_of_a_session_without_golden_digests(events):
    assert golden_words(RunRecord.of(events)) == ""
