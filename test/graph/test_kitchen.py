"""A session in the kitchen over a real ROS graph, run as a user runs it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from here import command_here
from session_runs import Workplace, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.analysis.data.golden import trial_digest
from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import Outcome, Start

SHIPPED = "package://robocontrast_ros/config/sessions/kitchen_demo.yaml"


def test_a_drawer_that_an_arm_opens_and_closes_moves_so_in_one_process_and_in_the_bag_to_the_last_bit(tmp_path):
    place = Workplace(tmp_path)
    session = place.session(
        **read_yaml(resolve_uri(SHIPPED))
        | {
            "composed": "all",
            "strategy": {"name": "chained:Twice"},
            "test_set": {"size": 1, "families": ["open"]},
            "cameras": [{"name": "agent", "width": 64, "height": 48}],
        }
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    opened, closed = finished(run)
    part = opened.trial.instance.instruction.get("target")
    for event in (opened, closed):
        assert event.result.outcome is Outcome.SUCCESS
        before, after = event.trial.instance.scene, event.result.final_scene
        assert before[part].pose.distance_to(after[part].pose) > 0.1, "the state of the drawer is in the journal"
        assert event.recording.missing == ()
    assert closed.trial.start is Start.ROBOT_ALONE and closed.cost == 0.0
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert [trial_digest(event) for event in (opened, closed)] == [trial_digest(event) for event in finished(fast)]
    assert unequal(run, fast) == []
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0, output
    assert "2 of 2 trials" in output and "exactly the journal's" in output
