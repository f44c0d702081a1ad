"""The policy server answers over its local connection as it does over its service."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from robocontrast_ros.srv import Act, DescribePolicy, ResetPolicy
from spinning import spun_node

from robocontrast_ros.domain import Fault, Observed, Pose
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.conversions.driver import array_to_image, observation_to_msg
from robocontrast_ros.nodes.rollout.policy_client import LocalActions, PendingActions, PolicyClient
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, PendingResponse, call
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving.local_connection import InProcessClient, LocalClient
from robocontrast_ros.policies.serving.runner import Answer, image_digest

MAIN = "from robocontrast_ros.nodes.policy_server_node import main; main()"
SUPPORT = Path(__file__).parents[1] / "support"
NOW = Observation(
    1_795_286_728_515_173_632, {}, ("elbow", "wrist"), (0.1, -1 / 3), Pose((0.1, 0.2, 0.3), (0.0, 0.0, 0.6, 0.8))
)


@pytest.fixture
def asked(tmp_path):
    """Return a function that calls a service of a policy server in a process of its own."""
    policy = tmp_path / "looking.yaml"
    policy.write_text("policy: looking_policy:Looking\n")
    paths = filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    server = subprocess.Popen([sys.executable, "-c", MAIN, "--ros-args", "-p", f"policy:={policy}"], env=environment)
    with spun_node("asking") as node:
        clients = {
            kind: node.create_client(kind, f"policy_server/{name}")
            for kind, name in (
                (Act, "act"),
                (ResetPolicy, "reset"),
                (DescribePolicy, "describe"),
                (ChangeState, "change_state"),
            )
        }
        DiscoveryProbe(node, "policy_server").wait(240.0)

        def ask(kind, wait=True, **fields):
            request = kind.Request(**fields)
            return call(clients[kind], request, 120.0) if wait else PendingResponse(clients[kind], request)

        yield ask
    server.terminate()
    server.wait(120)


@pytest.fixture
def client(asked):
    client = LocalClient(asked(DescribePolicy).line, 60.0)
    yield client
    client.close()


def test_the_same_observation_gets_the_same_answer_from_the_connection_as_from_the_service(asked, client):
    pixels = np.random.default_rng(1).integers(0, 256, (2, 96, 128, 3), dtype=np.uint8)
    board, wrist = (array_to_image(image, "camera", NOW.stamp) for image in pixels)
    bgr = array_to_image(pixels[1][:, :, ::-1], "camera", NOW.stamp)
    bgr.encoding = "bgr8"
    answers = []
    for images in ({"board": board, "wrist": wrist}, {"board": board, "wrist": bgr}):
        for locally in (False, True):
            asked(ResetPolicy, instruction="push the block", seed=7)
            if locally:
                pending = LocalActions(client, replace(NOW, images=PolicyClient.shown(images)))
            else:
                response = asked(Act, wait=False, observation=observation_to_msg(NOW, "world", images))
                pending = PendingActions(response, NOW.stamp, 60.0)
            answers.append(pending.result())
            assert answers[-1].observed.image_digest == image_digest(PolicyClient.shown(images)), "what was sent"
    for answer in answers:
        np.testing.assert_array_equal(answer.actions, answers[0].actions, strict=True)
        assert answer.observed == answers[0].observed
        assert answer.observed.instruction == "push the block" and answer.observed.image_digest
        assert answer.latency > 0.0


def test_a_policy_of_this_process_changes_no_image_that_is_published():
    image = array_to_image(np.zeros((4, 6, 3), np.uint8), "camera", NOW.stamp)

    def act(observation):
        observation.images["board"][:] = 7
        return Answer(np.zeros((1, 2)), 0.0, Observed())

    client = SimpleNamespace(_local=InProcessClient("here", act), shown=PolicyClient.shown)
    assert PolicyClient.request_actions(client, NOW, {"board": image}).result().actions.shape == (1, 2)
    assert not any(image.data)


def test_faults_over_the_connection_name_who_caused_them(asked, client):
    asked(ResetPolicy, instruction="push the block", seed=7)
    with pytest.raises(PolicyFault, match="where is the elbow") as raised:
        LocalActions(client, replace(NOW, joint_names=(), joint_positions=())).result()
    assert raised.value.fault is Fault.POLICY_RAISED
    assert LocalActions(client, NOW).result().actions.shape == (8, 4), "still connected"

    unreadable = array_to_image(np.zeros((4, 4, 3), np.uint8), "camera", NOW.stamp)
    unreadable.encoding = "16UC1"
    with pytest.raises(BenchFault, match="16UC1") as raised:
        PolicyClient.shown({"board": unreadable})
    assert raised.value.fault is Fault.SENSOR_LOST

    assert asked(ChangeState, transition=Transition(id=Transition.TRANSITION_DEACTIVATE)).success
    with pytest.raises(BenchFault, match="no policy is active") as raised:
        LocalActions(client, NOW).result()
    assert raised.value.fault is Fault.POLICY_SERVER_LOST
