"""Whole sessions over a real ROS graph, run as a user runs them."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time

import polars
import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from driving_policies import AboutTurn
from faulty_policies import FAILURES, STEPS_BEFORE
from foxglove_layouts import layout, missing
from session_runs import (
    Workplace,
    events_of,
    finish,
    finished,
    node_pids,
    scores,
    wait_for_line,
    wait_until,
)
from twice import recorded_fast, unequal

from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.domain import Fault, Outcome
from robocontrast_ros.runs.events import ProcessDied, SessionFinished, TrialStarted, TrialVoid
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.resolving import resolve


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def burn():
    while True:
        pass


@pytest.fixture
def load():
    """Keep every core busy."""
    processes = [multiprocessing.Process(target=burn, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.kill()
        process.join()


def fast_scores(session, folder):
    """Return what the same session comes to in one process."""
    resolved = resolve(session)
    bench = open_bench(resolved)
    run_session(resolved.evaluation(), bench, folder / "journal.jsonl")
    bench.close()
    return scores(folder)


CONTRAST = {"strategy": {"name": "contrast_set", "perturbations": ["LB1", "LB2", "SB1", "SB2"]}}


def test_a_contrast_session_is_in_journal_bags_and_table_and_the_bags_give_the_same_scores(place):
    families = ["block_to_block_relative_location", "block_to_absolute_location"]
    session = place.session(
        **CONTRAST,
        policy="film_bc_state",
        test_set={"size": 2, "families": families},
        task=place.short_task(60),
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    trials = finished(run)
    assert {event.trial.perturbation for event in trials} >= {"base", "LB2", "SB2"}
    fast = recorded_fast(run)
    assert scores(run) == scores(fast), "one process and the graph agree to the last bit"
    assert unequal(run, fast) == []
    assert isinstance(events_of(run)[-1], SessionFinished)
    bases = {event.trial.base_id for event in trials if event.trial.is_base}
    assert {event.trial.base_id for event in trials} == bases, "every perturbed trial has its base trial"
    for event in trials:
        assert event.observed.instruction == event.trial.instance.instruction.text
        assert (run / event.recording.bag / "metadata.yaml").exists()
        assert event.recording.missing == ()
        assert len(event.policy_latency) >= event.result.steps and min(event.policy_latency) > 0.0
    for table in (polars.read_parquet(run / "trials.parquet"), polars.read_csv(run / "trials.csv")):
        assert table.height == len(trials)
        assert table["spl"].to_list() == pytest.approx([event.result.scores["spl"] for event in trials])
    assert (run / "summary.json").exists() and list((run / "figures").glob("*.png"))
    assert str(run) in output.replace("\n", "")
    for folder in (run, fast):
        code, output = place.run("score", folder)
        assert code == 0, output
        assert f"{len(trials)} of {len(trials)} trials" in output
        bag = folder / trials[0].recording.bag
        code, output = place.run("picture", bag, "--to", folder / "trial.png")
        assert code == 0, output
        assert len(read_images(bag)) >= trials[0].result.steps
        assert missing(layout("manipulator"), bag) == []
        assert (folder / "trial.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_gives_the_same_trials_and_scores_twice_in_a_row_and_under_load(place, request):
    contrast = {"name": "contrast_set", "perturbations": ["LB1", "SB1"]}
    session = place.session(policy="noisy_oracle", strategy=contrast, test_set={"size": 1})
    code, output = place.run("evaluate", session)
    assert code == 0, output
    assert scores(place.runs[0]) == fast_scores(session, place.folder), "one process and the graph agree, too"
    request.getfixturevalue("load")
    code, output = place.run("evaluate", session)
    assert code == 0, output
    first, second = place.runs
    assert scores(first) == scores(second)
    assert len(scores(first)) == 3


def test_a_limited_session_on_the_other_robot_with_narrow_limits_is_slowed_and_stopped_by_its_safety_filter(place):
    limits = {"velocity": {"limit": 0.3}, "workspace": {"margin": -0.12, "action": "stop"}}
    robot = place.folder / "careful.yaml"
    robot.write_text(yaml.safe_dump({"extends": "ur5e", "safety": limits}))
    session = place.session(strategy={"name": "limited_intervention"}, test_set={"size": 3})
    code, output = place.run("evaluate", session, "--robot", robot)
    assert code == 0, output
    (run,) = place.runs
    trials = finished(run)
    assert len(trials) == 3
    stopped = [event for event in trials if event.result.fault is Fault.POLICY_UNSAFE]
    assert stopped and all(event.result.outcome is Outcome.POLICY_FAULT for event in stopped)
    for event in trials:
        counts = event.result.interventions
        assert counts["velocity"] > 1 and counts.get("workspace", 0) == (event in stopped)
        assert dict(event.recording.messages)["safety"] == sum(counts.values())
        assert event.recording.missing == ()
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert unequal(run, fast) == [], "what the filter did included"
    code, output = place.run("score", run)
    assert code == 0 and "3 of 3 trials" in output, output


def test_a_robot_that_drives_into_a_wall_is_stopped_by_it_and_that_is_scored_live_and_from_the_bag(place):
    session = place.session(
        task="studio_apartment",
        robot="locobot",
        policy=place.policy("AboutTurn", "driving_policies"),
        test_set={"size": 1, "families": ["arrangement_1"]},
        repeats=2,
        cameras=[{"name": "camera", "width": 64, "height": 48}],
        camera_images="when_asked",
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    first, second = finished(run)
    start = first.trial.instance.scene.robot
    end = first.result.final_scene.robot
    assert repr(first.result) == repr(second.result), "the same again, odometry included"
    assert (first.result.outcome, first.result.stopped) == (Outcome.FAILURE, True)
    assert first.result.scores["collisions"] == 1, "one bump, however long it pushed"
    assert "walls" in first.result.final_scene.contacts
    assert abs(math.remainder(end.yaw - start.yaw - math.pi, math.tau)) < 0.2
    assert 0.17 < end.position[0] < 0.3, "the wall is at x = 0, the base has a radius of 0.178 m"
    assert first.result.steps > 11 * 5, "a move takes several control steps"
    messages = dict(first.recording.messages)
    assert first.recording.missing == ()
    assert messages["locobot/camera/color/image_raw"] == len(AboutTurn.MOVES), "one for each answer"
    assert messages["locobot/mobile_base/contacts"] >= messages["scene"] - 1 >= first.result.steps
    assert messages["tf_static"] == 1, "published once for all trials, and in every bag"
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert unequal(run, fast) == [], "images when the policy is asked, odometry, contacts and frames included"
    assert missing(layout("locobot"), run / first.recording.bag) == []
    assert missing(layout("locobot"), fast / first.recording.bag) == []
    code, output = place.run("score", run)
    assert code == 0, output
    assert "2 of 2 trials" in output


def test_a_policy_that_fails_fails_its_trials_and_the_session_goes_on(place):
    session = place.session(timeouts={"policy": 5.0}, test_set={"size": len(FAILURES) + 1})
    code, output = place.run("evaluate", session, "--policy", place.policy("Misbehaving"))
    assert code == 0, output
    *failed, last = finished(place.runs[0])
    for event, (fault, _) in zip(failed, FAILURES, strict=True):
        assert (event.result.outcome, event.result.fault) == (Outcome.POLICY_FAULT, fault)
        assert (event.result.success, event.result.scores["spl"], event.result.steps) == (0.0, 0.0, STEPS_BEFORE)
    assert (last.result.outcome, last.result.steps) == (Outcome.FAILURE, 200)


@pytest.mark.parametrize("victim", ["simulator", "policy_server"])
def test_a_process_that_is_killed_voids_its_trial_and_the_session_can_be_resumed(place, victim):
    session = place.session(policy="random", test_set={"size": 3}, task=place.short_task(80))
    process = place.begin("evaluate", session)
    try:
        run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
        started = lambda: sum(isinstance(e, TrialStarted) for e in events_of(run)) == 2  # noqa: E731
        wait_until(started, "the second trial")
        killed = time.monotonic()
        os.kill(node_pids(run)[victim], signal.SIGKILL)
        told = wait_for_line(process, "error: ")
        assert f"'{victim}' was killed by SIGKILL" in told
        assert time.monotonic() - killed < 8.0 and len(node_pids(run)) > 1, "before the others are stopped"
    finally:
        code, output = finish(process)
    assert code == 3, output
    assert "--resume" in output
    assert node_pids(run) == {}, "no process is left behind"
    events = events_of(run)
    assert any(isinstance(e, ProcessDied) and e.process == victim for e in events)
    assert [e for e in events if isinstance(e, TrialVoid)] or len(finished(run)) == 1
    code, output = place.run("evaluate", "--resume", run)
    assert code == 0, output
    assert scores(run) == fast_scores(session, place.folder), "nothing is lost, and nothing is different"


def test_control_c_ends_the_session_and_every_process(place):
    process = place.begin("evaluate", place.session(policy="random", test_set={"size": 4}))
    run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
    wait_until(lambda: any(isinstance(e, TrialStarted) for e in events_of(run)), "the first trial")
    process.send_signal(signal.SIGINT)
    code, output = finish(process)
    assert code == 130, output
    assert "Traceback" not in output
    assert node_pids(run) == {}
    assert "--resume" in output


@pytest.mark.parametrize(
    ("arguments", "changes", "words"),
    [
        (["--robot", "frankka"], {}, ["frankka", "franka", "ur5e", "Did you mean"]),
        (["--robot", "locobot"], {}, ["`robot`", "locobot.yaml", "language_table.yaml", "is fixed"]),
        (["--policy", "orcale"], {}, ["orcale", "oracle"]),
        (["--budget", "-1"], {}, ["budget", "-1"]),
        ([], {"task": "language_tabel"}, ["small.yaml", "`task`", "language_table"]),
        ([], {"sede": 1}, ["small.yaml", "`sede`", "seed"]),
        ([], {"repeats": 0}, ["small.yaml", "`repeats`", "0"]),
        (
            [],
            {"strategy": {"name": "contrast_set", "perturbations": ["LB3"]}},
            ["small.yaml", "LB3", "LB1"],
        ),
        ([], {"cameras": [{"name": "wrist", "width": 64, "height": 48}]}, ["wrist", "board"]),
    ],
)
def test_a_mistake_is_one_line_that_names_it_and_nothing_is_started(place, arguments, changes, words):
    code, output = place.run("evaluate", place.session(**changes), *arguments)
    assert code == 2, output
    assert "Traceback" not in output
    assert len(output.strip().splitlines()) == 1 and output.startswith("error: ")
    for word in words:
        assert word in output
    assert place.runs == []
