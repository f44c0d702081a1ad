"""A session of an arm with a hand among distractors over a real ROS graph, run as a user runs it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from foxglove_layouts import layout, missing
from here import command_here
from session_runs import Workplace, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import BASE, Outcome

SHIPPED = "package://robocontrast_ros/config/sessions/tabletop_clutter.yaml"

DISTRACTORS = {"name": "distractors", "count": 4, "occluder": True}


def test_an_arm_with_a_hand_solves_trials_which_one_process_and_the_bags_give_again(tmp_path):
    place, shipped = Workplace(tmp_path), read_yaml(resolve_uri(SHIPPED))
    session = place.session(
        **shipped
        | {
            "robot": "ur5e_2f85",
            "policy": "tabletop_oracle",
            "composed": False,
            "scores": [*shipped["scores"], "closed_on_nothing", "tracking_error"],
            "strategy": shipped["strategy"] | {"perturbations": [DISTRACTORS]},
            "test_set": {"size": 1, "families": ["put_in"]},
            "cameras": [{"name": name, "width": 64, "height": 48} for name in ("top", "front", "wrist")],
        }
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    assert len(list((run / "parameters/nodes").iterdir())) == 7, "each node has a process of its own"
    trials = finished(run)
    assert [event.trial.perturbation for event in trials] == [BASE, "distractors_4_occluder"]
    assert [event.result.outcome for event in trials] == [Outcome.SUCCESS] * 2
    assert [event.result.scores["h_success"] for event in trials] == [1.0] * 2
    assert [event.result.scores["closed_on_nothing"] for event in trials] == [0.0] * 2
    assert all(0.0 < event.result.scores["tracking_error"] < 0.1 for event in trials)
    assert [len(event.trial.instance.scene.objects) for event in trials] == [5, 9]
    assert all(event.recording.missing == () for event in trials)
    fast = recorded_fast(run)
    assert scores(run) == scores(fast), "one process and the graph agree to the last bit, what is touched included"
    assert unequal(run, fast) == []
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0, output
    assert "2 of 2 trials" in output
    assert missing(layout("tabletop"), run / trials[0].recording.bag) == []
