"""In a simulator of others that brings no arm to its start, the arm's own controller does."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import Workplace, events_of, finish, finished
from strange_simulator import WORLD, start

from robocontrast_ros.runs.events import TrialVoid
from robocontrast_ros.sessions.resolving import resolve


@pytest.mark.long
def test_an_arm_goes_to_its_start_by_its_own_controller_in_a_simulator_that_is_stepped(tmp_path):
    place = Workplace(tmp_path)
    world = {"backend": "simulation_interfaces", "simulator": "/gz", "resets_robot": False, **WORLD}
    session = place.session(policy="oracle", test_set={"size": 2}, cameras=[], world=world)
    simulator = start(resolve(session), tmp_path / "simulator.yaml", "gz", ROBOT_STAYS="1")
    try:
        code, output = finish(place.begin("evaluate", session))
    finally:
        simulator.terminate()
        simulator.communicate(timeout=120)
    assert code == 0, output
    (run,) = place.runs
    # The second instance begins where the first one's trial has left the arm.
    assert [event.result.success for event in finished(run)] == [1.0] * 2
    assert not [event for event in events_of(run) if isinstance(event, TrialVoid)]
