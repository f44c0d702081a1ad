"""What the rollout makes of an answer of the policy server."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.srv import Act

from robocontrast_ros.domain import Fault
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.rollout.policy_client import PendingActions
from robocontrast_ros.policies.protocol import PolicyFault

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
