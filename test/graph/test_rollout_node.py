"""The rollout refuses a policy that does not fit its robot, as it is described over ROS."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.srv import Act, DescribePolicy, ResetPolicy
from simulation_interfaces.srv import StepSimulation
from spinning import spun_node

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import ActionConventions
from robocontrast_ros.nodes.conversions.domain import description_to_msg
from robocontrast_ros.policies.protocol import PolicyDescription

MAIN = "from robocontrast_ros.nodes.rollout_node import main; main()"
ROBOT = resolve_uri("package://robocontrast_ros/config/robots/ur5e.yaml")
WRONG = PolicyDescription(
    "wrong",
    "joint_positions",
    8,
    chunk_length=10,
    cameras=("wrist",),
    conventions=ActionConventions("delta", "joint", "none", "closes"),
    rate=15.0,
    joints=7,
    ensemble=0.01,
)


def test_what_a_server_serves_is_refused_before_the_first_trial_with_all_that_differs():
    def describe(_, response: DescribePolicy.Response) -> DescribePolicy.Response:
        response.description = description_to_msg(WRONG, "")
        return response

    with spun_node("others") as others:
        others.create_service(DescribePolicy, "policy_server/describe", describe)
        for kind, name in (
            (Act, "policy_server/act"),
            (ResetPolicy, "policy_server/reset"),
            (StepSimulation, "simulator/step_simulation"),
        ):
            others.create_service(kind, name, lambda _, response: response)
        parameters = (f"robot:={ROBOT}", "steps_per_control:=50", "control_period:=0.1")
        words = [word for parameter in parameters for word in ("-p", parameter)]
        rollout = subprocess.run(
            [sys.executable, "-c", MAIN, "--ros-args", *words],
            text=True,
            capture_output=True,
            timeout=240,
            check=False,
        )
    assert rollout.returncode == 2, rollout.stderr
    # The middleware may have its own words on a machine with many nodes.
    said = rollout.stderr.splitlines()
    first, *lines = (line for line in said if line.startswith(("[FATAL] ", "  ")))
    assert "Traceback" not in rollout.stderr
    _, words = first.split("[rollout]: ")
    assert words.startswith("what 'policy_server' serves: got 'wrong', expected a policy that fits robot 'ur5e'")
    assert lines == [
        "  gripper: the policy has a gripper, robot 'ur5e' has none",
        "  action_size: the policy answers 8 numbers, the robot's joint_positions takes 6",
        "  reference: the policy answers delta, the robot's joint_positions takes absolute",
        "  rate: the policy was made for 15 Hz, the task's control_rate is 10 Hz",
        "  cameras: the policy needs 'wrist', in use are board",
        "  joints: the policy reads 7 joints, robot 'ur5e' shows 6",
    ]
