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

SHIPPED = "package://robocontrast_ros/config/sessions/kitchen_c3.yaml"


@pytest.mark.long
def test_a_chain_of_skills_is_the_same_in_one_process_and_in_the_bag_to_the_last_bit(tmp_path):
    place = Workplace(tmp_path)
    session = place.session(
        **read_yaml(resolve_uri(SHIPPED))
        | {
            "composed": "all",
            "test_set": {"size": 1, "chains": [["kitchen_1_open_top_drawer", "kitchen_1_bowl_on_cabinet"]]},
            "cameras": [{"name": "agent", "width": 64, "height": 48}],
        }
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    _, opened, chained = events = finished(run)
    part = opened.trial.instance.instruction.get("target")
    for event in events:
        assert event.result.outcome is Outcome.SUCCESS
        assert event.recording.missing == ()
    before, after = opened.trial.instance.scene, opened.result.final_scene
    assert before[part].pose.distance_to(after[part].pose) > 0.1, "the state of the drawer is in the journal"
    assert chained.trial.start is Start.ROBOT_ALONE and chained.cost == 0.0
    assert chained.trial.instance.scene[part].pose == after[part].pose, "the drawer is open in the next skill's scene"
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert [trial_digest(event) for event in events] == [trial_digest(event) for event in finished(fast)]
    assert unequal(run, fast) == []
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0, output
    assert "3 of 3 trials" in output and "exactly the journal's" in output
