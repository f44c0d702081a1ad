"""What the rollout makes of an answer of the policy server."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.srv import Act

from robocontrast_ros.domain import Fault, Observed, Pose
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.conversions.driver import array_to_image
from robocontrast_ros.nodes.rollout.policy_client import PendingActions, PolicyClient
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving import in_process
from robocontrast_ros.policies.serving.runner import Answer

STAMP = 1_795_705_209_907_401_083
"""Of a wall clock; as a float of seconds it comes back as another [ns]."""


class Arrived:
    """A response that is there."""

    def __init__(self, stamp: int) -> None:
        self._response = Act.Response(
            stamp=time_to_msg(stamp), actions=[0.01, 0.02, 0.03, 0.04], count=2, size=2, latency=0.5
        )

    def result(self, timeout: float) -> Act.Response:
        return self._response


def test_the_actions_of_an_answer_come_row_by_row():
    answer = PendingActions(Arrived(STAMP), STAMP, 5.0).result()
    assert answer.actions.tolist() == [[0.01, 0.02], [0.03, 0.04]]
    assert answer.latency == 0.5


def test_an_answer_to_an_earlier_observation_is_late_and_is_dropped():
    with pytest.raises(PolicyFault, match=r"late: .* 1\.100 s, asked about that of 1\.200 s") as error:
        PendingActions(Arrived(1_100_000_000), 1_200_000_000, 5.0).result()
    assert error.value.fault is Fault.POLICY_TIMEOUT


NOW = Observation(STAMP, {}, ("elbow", "wrist"), (0.1, -1 / 3), Pose((0.1, 0.2, 0.3), (0.0, 0.0, 0.6, 0.8)))
SERVER = "/lab/policy_server"


@pytest.fixture
def ask():
    """Return a function that asks a policy of this process, given as a function, and returns the pending actions."""

    def ask(act, images=None):
        in_process.serve(SERVER, act)
        client = SimpleNamespace(_act=SimpleNamespace(srv_name=f"{SERVER}/act"), shown=PolicyClient.shown)
        return PolicyClient.request_actions(client, NOW, images or {})

    yield ask
    in_process.withdraw(SERVER)
    assert in_process.served(SERVER) is None


def test_a_policy_of_this_process_is_called_and_changes_no_image_that_is_published(ask):
    image = array_to_image(np.zeros((4, 6, 3), np.uint8), "camera", STAMP)

    def act(observation):
        assert observation.joint_positions == NOW.joint_positions and observation.stamp == STAMP
        observation.images["board"][:] = 7
        return Answer(np.zeros((1, 2)), 0.0, Observed())

    pending = ask(act, {"board": image})
    assert pending.arrived(0.0) and pending.result().actions.shape == (1, 2)
    assert not any(image.data)


@pytest.mark.parametrize(
    ("fault", "kind"), [(Fault.POLICY_RAISED, PolicyFault), (Fault.POLICY_SERVER_LOST, BenchFault)], ids=str
)
def test_a_fault_in_this_process_is_raised_by_its_owner_where_the_answer_is_taken(ask, fault, kind):
    def act(observation):
        raise PolicyFault(fault, "where is the elbow")

    pending = ask(act)
    with pytest.raises(kind, match="where is the elbow") as error:
        pending.result()
    assert error.value.fault is fault


def test_an_image_that_cannot_be_read_is_the_benchs_fault(ask):
    unreadable = array_to_image(np.zeros((4, 4, 3), np.uint8), "camera", STAMP)
    unreadable.encoding = "16UC1"
    with pytest.raises(BenchFault, match="16UC1") as error:
        ask(lambda observation: None, {"board": unreadable})
    assert error.value.fault is Fault.SENSOR_LOST
