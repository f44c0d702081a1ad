"""The sessions `tabletop_demo` and `tabletop_clutter` on both arms over a real ROS graph, run as a user runs it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from foxglove_layouts import layout, missing
from session_runs import Workplace, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import BASE, Outcome

SHIPPED = "package://robocontrast_ros/config/sessions/tabletop_demo.yaml"

PERTURBED = ["LB", "SB"]
"""Of the session's perturbations, those that change the instruction and the scene: enough for the graph."""


@pytest.mark.parametrize(("robot", "family"), [("franka_hand", "stack"), ("ur5e_2f85", "put_on")])
def test_an_arm_with_a_hand_solves_trials_which_one_process_and_the_bags_give_again(tmp_path, robot, family):
    place, shipped = Workplace(tmp_path), read_yaml(resolve_uri(SHIPPED))
    assert set(PERTURBED) <= set(shipped["strategy"]["perturbations"])
    assert family in shipped["test_set"]["families"]
    session = place.session(
        **shipped
        | {
            "robot": robot,
            "policy": "tabletop_oracle",
            "strategy": shipped["strategy"] | {"perturbations": PERTURBED},
            "test_set": {"size": 1, "families": [family]},
            "cameras": [{"name": name, "width": 64, "height": 48} for name in ("top", "front", "wrist")],
        }
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    trials = finished(run)
    assert [event.trial.perturbation for event in trials] == [BASE, *PERTURBED]
    assert [event.result.outcome for event in trials] == [Outcome.SUCCESS] * len(trials)
    base, redirected, changed = (event.trial.instance for event in trials)
    assert redirected.instruction.arguments != base.instruction.arguments == changed.instruction.arguments
    check_again(place, run, len(trials))
    assert missing(layout("tabletop"), run / trials[0].recording.bag) == []


def check_again(place, run, trials):
    """Assert that nothing is missing of the trials, and that one process and the bags give them again."""
    assert all(event.recording.missing == () for event in finished(run))
    fast = recorded_fast(run)
    assert scores(run) == scores(fast), "one process and the graph agree to the last bit"
    assert unequal(run, fast) == []
    for folder in (run, fast):
        code, output = place.run("score", folder)
        assert code == 0, output
        assert f"{trials} of {trials} trials" in output


def test_among_distractors_what_is_touched_is_the_same_in_the_graph_in_one_process_and_from_the_bags(tmp_path):
    place = Workplace(tmp_path)
    shipped = read_yaml(resolve_uri("package://robocontrast_ros/config/sessions/tabletop_clutter.yaml"))
    added = {"name": "distractors", "count": 16, "occluder": True}
    session = place.session(
        **shipped
        | {
            "robot": "ur5e_2f85",
            "policy": "tabletop_oracle",
            "strategy": shipped["strategy"] | {"perturbations": [added]},
            "test_set": {"size": 1, "families": ["put_in"]},
            "cameras": [],
        }
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    trials = finished(run)
    assert [event.trial.perturbation for event in trials] == [BASE, "distractors_16_occluder"]
    assert [len(event.trial.instance.scene.objects) for event in trials] == [5, 21]
    assert [event.result.scores["h_success"] for event in trials] == [1.0, 1.0]
    check_again(place, run, len(trials))
    code, output = place.run("clutter-tables", run)
    assert code == 0, output
    assert "SR_base" in output
