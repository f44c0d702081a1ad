"""The policy server's lifecycle, over a real graph."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from robocontrast_ros.msg import Observation  # noqa: E402
from robocontrast_ros.srv import Act, DescribePolicy, ResetPolicy  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.configuration import resolve_uri  # noqa: E402
from robocontrast_ros.domain import Fault  # noqa: E402
from robocontrast_ros.nodes.channel import call, wait_for  # noqa: E402

MAIN = "from robocontrast_ros.nodes.policy_server_node import main; main()"
DOMAIN = 104 + os.getpid() % 60


def begin(*parameters: str) -> subprocess.Popen[str]:
    words = [word for parameter in parameters for word in ("-p", parameter)]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "--ros-args", *words],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture
def server():
    """Return a function that starts a server; it is stopped afterwards."""
    processes = []

    def start(*parameters: str) -> subprocess.Popen[str]:
        processes.append(begin(*parameters))
        return processes[-1]

    yield start
    for process in processes:
        process.terminate()
        process.wait(20)


@pytest.fixture
def ask(monkeypatch):
    """Return a function that calls a service of the server."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with spun_node("asking", DOMAIN) as node:
        clients = {
            Act: node.create_client(Act, "policy_server/act"),
            ResetPolicy: node.create_client(ResetPolicy, "policy_server/reset"),
            DescribePolicy: node.create_client(DescribePolicy, "policy_server/describe"),
            ChangeState: node.create_client(ChangeState, "policy_server/change_state"),
        }

        def ask_for(kind, **fields):
            wait_for(clients[kind], 30.0)
            return call(clients[kind], kind.Request(**fields), 20.0)

        yield ask_for


RANDOM = f"policy:={resolve_uri('package://robocontrast_ros/config/policies/random.yaml')}"


def change(ask, transition: int) -> bool:
    return ask(ChangeState, transition=Transition(id=transition)).success


def test_a_policy_serves_only_while_the_node_is_active(server, ask):
    server(RANDOM, "autostart:=false")
    assert ask(DescribePolicy).fault.code == int(Fault.POLICY_SERVER_LOST)
    assert change(ask, Transition.TRANSITION_CONFIGURE)
    assert ask(ResetPolicy, instruction="go", seed=1).fault.code == int(Fault.POLICY_SERVER_LOST)
    assert change(ask, Transition.TRANSITION_ACTIVATE)
    described = ask(DescribePolicy).description
    assert (described.name, described.action_space, described.action_size) == ("random", "planar_delta", 2)
    assert ask(ResetPolicy, instruction="go", seed=1).fault.code == 0
    observation = Observation()
    answer = ask(Act, observation=observation)
    assert (answer.count, answer.size, len(answer.actions)) == (1, 2, 2)
    assert answer.observed_instruction == "go"
    assert ask(Act, observation=observation).observed_instruction == ""
    assert change(ask, Transition.TRANSITION_DEACTIVATE)
    assert ask(Act, observation=observation).fault.code == int(Fault.POLICY_SERVER_LOST)
    assert change(ask, Transition.TRANSITION_CLEANUP)
    assert change(ask, Transition.TRANSITION_CONFIGURE)
    assert change(ask, Transition.TRANSITION_ACTIVATE)
    assert ask(DescribePolicy).fault.code == 0


def test_the_seed_of_a_reset_makes_the_answers(server, ask):
    server(RANDOM)

    def first_action(seed):
        assert ask(ResetPolicy, instruction="go", seed=seed).fault.code == 0
        return list(ask(Act, observation=Observation()).actions)

    assert first_action(1) == first_action(1) != first_action(2)


def test_a_configuration_that_fails_says_why_and_the_node_lives_on(server, ask, tmp_path):
    process = server(f"policy:={tmp_path / 'none.yaml'}", "autostart:=false")
    assert not change(ask, Transition.TRANSITION_CONFIGURE)
    assert process.poll() is None
    process.terminate()
    assert "none.yaml" in process.communicate(timeout=20)[0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([], ["`policy`", "required"]),
        (["policy:=/nowhere/p.yaml"], ["/nowhere/p.yaml", "No such file"]),
        ([RANDOM, "timeout:=-1.0"], ["`timeout`", "-1.0"]),
        ([RANDOM, "timeot:=1.0"], ["`timeot`", "Did you mean 'timeout'?"]),
    ],
)
def test_wrong_parameters_end_the_process_with_one_line(server, parameters, words):
    process = server(*parameters)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Traceback" not in output
    for word in ["error: ", *words]:
        assert word in output


def test_an_interrupt_ends_the_process_cleanly(server, ask):
    process = server(RANDOM)
    assert ask(DescribePolicy).fault.code == 0
    process.send_signal(2)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in output
