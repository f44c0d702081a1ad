"""Tasks of the suite on both arms, one of them over a real ROS graph."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from here import command_here, session_here
from session_runs import Workplace, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.analysis.data.golden import trial_digest
from robocontrast_ros.configuration import load_configured, read_yaml, resolve_uri
from robocontrast_ros.domain import Outcome

SHIPPED = "package://robocontrast_ros/config/sessions/tabletop_suite.yaml"


def session_of(place, robot, kind):
    """Write a session of a shipped task of two subtasks of a kind; return its file and the task."""
    suite = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/tabletop_suite.yaml")).suite
    task = next(t for t in suite.values() if kind in t.attributes and t.difficulty.subtasks == 2)
    changes = {
        "robot": robot,
        "composed": "all",
        "test_set": {"size": 1, "families": [task.name]},
        "cameras": [{"name": "front", "width": 64, "height": 48}],
    }
    return place.session(**read_yaml(resolve_uri(SHIPPED)) | changes), task


def check(run, task):
    """Assert that the one trial of a run did both subtasks, which its bag says, too."""
    (event,) = finished(run)
    assert event.trial.instance.problem == task.name
    assert event.result.outcome is Outcome.SUCCESS
    assert event.result.subgoals == task.difficulty.subtasks == event.result.scores["subgoals_reached"]
    assert event.result.scores["score"] == 1.0
    assert event.result.scores["closed_on_nothing"] == 0.0
    assert 0.0 < event.result.scores["tracking_error"] < 0.1
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0, output
    assert "1 of 1 trial:" in output and "exactly the journal's" in output


@pytest.mark.long
def test_subtasks_one_after_the_other_are_the_same_in_one_process_and_in_the_bag_to_the_last_bit(tmp_path):
    place = Workplace(tmp_path)
    session, task = session_of(place, "franka_hand", "stacking")
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    check(run, task)
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert [trial_digest(event) for event in finished(run)] == [trial_digest(event) for event in finished(fast)]
    assert unequal(run, fast) == []


@pytest.mark.long
def test_subtasks_on_another_arm_which_test_tabletop_has_over_the_graph(tmp_path):
    session, task = session_of(Workplace(tmp_path), "ur5e_2f85", "counting")
    check(session_here(session), task)
