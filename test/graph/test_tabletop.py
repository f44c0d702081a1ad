"""The task `tabletop` on both arms over a real ROS graph, run as a user runs it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import Workplace, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.domain import Outcome

FAMILIES = ["pick", "put_in"]


@pytest.mark.parametrize("robot", ["franka_hand", "ur5e_2f85"])
def test_an_arm_with_a_hand_solves_trials_which_one_process_and_the_bags_give_again(tmp_path, robot):
    place = Workplace(tmp_path)
    session = place.session(
        task="tabletop",
        robot=robot,
        policy="tabletop_oracle",
        test_set={"size": len(FAMILIES), "families": FAMILIES},
        cameras=[{"name": "wrist", "width": 64, "height": 48}],
        camera_images="when_asked",
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    trials = finished(run)
    assert [event.result.outcome for event in trials] == [Outcome.SUCCESS] * len(FAMILIES)
    assert {event.trial.instance.instruction.family for event in trials} == set(FAMILIES)
    assert all(event.recording.missing == () for event in trials)
    fast = recorded_fast(run)
    assert scores(run) == scores(fast), "one process and the graph agree to the last bit"
    assert unequal(run, fast) == []
    for folder in (run, fast):
        code, output = place.run("score", folder)
        assert code == 0, output
        assert f"{len(trials)} of {len(trials)} trials" in output
