"""Whole sessions over a real ROS graph, run as a user runs them."""

from __future__ import annotations

import math

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from driving_policies import AboutTurn
from faulty_policies import FAILURES, STEPS_BEFORE
from foxglove_layouts import layout, missing
from here import command_here
from session_runs import Workplace, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.domain import Fault, Outcome


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


@pytest.mark.long
def test_a_policy_that_fails_or_is_stopped_by_the_safety_filter_fails_its_trials_and_the_session_goes_on(place):
    limits = {"velocity": {"limit": 0.3}, "workspace": {"margin": -0.12, "action": "stop"}}
    robot = place.folder / "careful.yaml"
    robot.write_text(yaml.safe_dump({"extends": "ur5e", "safety": limits}))
    session = place.session(
        robot=str(robot),
        policy=place.policy("Misbehaving"),
        strategy={"name": "limited_intervention"},
        test_set={"size": len(FAILURES) + 1},
        task=place.short_task(40),
        # Shorter than it hangs.
        timeouts={"policy": 10.0},
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    *failed, last = finished(run)
    for event, (fault, _) in zip(failed, FAILURES, strict=True):
        assert (event.result.outcome, event.result.fault) == (Outcome.POLICY_FAULT, fault)
        assert (event.result.success, event.result.scores["spl"]) == (0.0, 0.0)
        counts, stopped = event.result.interventions, fault is Fault.POLICY_UNSAFE
        assert event.result.steps > STEPS_BEFORE if stopped else event.result.steps == STEPS_BEFORE
        assert (counts.get("velocity", 0) > 1, counts.get("workspace", 0)) == (stopped, stopped)
        assert dict(event.recording.messages)["safety"] == sum(counts.values())
    assert (last.result.outcome, last.result.steps) == (Outcome.FAILURE, 40)
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert unequal(run, fast) == [], "what the filter did included"


def test_a_robot_that_drives_into_a_wall_is_stopped_by_it_and_that_is_scored_live_and_from_the_bag(place):
    session = place.session(
        task="studio_apartment",
        robot="locobot",
        policy=place.policy("AboutTurn", "driving_policies"),
        policy_server={"composed": True},
        test_set={"size": 1, "families": ["arrangement_1"]},
        repeats=2,
        cameras=[{"name": "camera", "width": 64, "height": 48}],
        camera_images="when_asked",
    )
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    assert len(list((run / "parameters/nodes").iterdir())) == 4, "the policy server is in the container"
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
    code, output = command_here("score", run, "--processes", 1)
    assert code == 0, output
    assert "2 of 2 trials" in output
