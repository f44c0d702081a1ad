"""The client of an action whose goals follow each other quickly; it can also cancel the goals of other clients.

An action is three services and two topics (design.ros2.org/articles/actions.html). Only the services are used: no goal
is waited for, any goal can be cancelled, and no feedback is received, because its definition differs between releases
of control_msgs.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.node import Node
from rclpy.qos import qos_profile_services_default
from unique_identifier_msgs.msg import UUID

from robocontrast_ros.nodes.rollout.drivers.faults import Kind, absence, robot_fault
from robocontrast_ros.nodes.runtime.channel import NoAnswer, first_call

KEPT = 16
"""Greatest number of goals whose results are awaited at the same time; the results of older ones are ignored."""

Ended = Callable[[int, Any], None]
"""Called with the status of a goal (``action_msgs/msg/GoalStatus``) and its result."""


class Goals:
    """Sends goals of one action. Its callbacks run on the thread that serves the node.

    Attributes:
        name: name of the action in the robot's file.
        answered: whether the action has answered a ``cancel_all``.
    """

    def __init__(self, node: Node, action: Any, name: str) -> None:
        """Make the clients; ``action`` is the class of the action."""
        self.name, self._node, self._types = name, node, action.Impl
        self.answered = False
        services = (action.Impl.SendGoalService, "send_goal"), (action.Impl.GetResultService, "get_result")
        self._send, self._result = (
            node.create_client(kind, f"{name}/_action/{of}", qos_profile=qos_profile_services_default)
            for kind, of in services
        )
        # The last of the three: a server that answers this client has also discovered the others.
        self._cancel = node.create_client(CancelGoal, f"{name}/_action/cancel_goal")
        self._lock = threading.Lock()
        self._sent: OrderedDict[bytes, float] = OrderedDict()
        self._awaited: OrderedDict[bytes, Any] = OrderedDict()

    def check(self, timeout: float) -> None:
        """Make sure that the action exists, and has discovered this client.

        Raises:
            BenchFault: ROBOT_FAULT, with similar names that exist instead.
        """
        if not self._cancel.wait_for_service(timeout_sec=timeout):
            raise robot_fault(absence(self._node, self.name, Kind.ACTION))
        request = CancelGoal.Request()
        request.goal_info.goal_id.uuid = list(uuid.uuid4().bytes)  # no goal has this id: nothing is cancelled
        try:
            first_call(self._cancel, request, timeout)
        except NoAnswer:
            where = self._node.resolve_topic_name(self.name)
            raise robot_fault(f"the action {where} does not answer within {timeout:g} s: restart its driver") from None

    def send(self, goal: Any, rejected: Callable[[], None], ended: Ended) -> None:
        """Send a goal without waiting."""
        identity = uuid.uuid4().bytes
        request = self._types.SendGoalService.Request(goal_id=UUID(uuid=list(identity)), goal=goal)
        with self._lock:
            self._sent[identity] = time.monotonic()
        future = self._send.call_async(request)
        future.add_done_callback(lambda done: self._on_answer(identity, done.result(), rejected, ended))

    def unanswered(self) -> float:
        """Return the longest time for which a goal has been neither accepted nor rejected [s]; 0 for none."""
        with self._lock:
            return max((time.monotonic() - since for since in self._sent.values()), default=0.0)

    def forget(self) -> None:
        """Ignore later answers and results of the goals sent so far."""
        with self._lock:
            self._sent.clear()
            awaited, self._awaited = list(self._awaited.values()), OrderedDict()
        for future in awaited:
            self._result.remove_pending_request(future)

    def cancel_all(self, done: Callable[[bool], None] = lambda _: None) -> None:
        """Cancel every goal of the action, whoever sent it, without waiting.

        The zero id means all goals (``action_msgs/srv/CancelGoal``). When the action has answered, ``done`` is called
        with whether there was a goal that now ends.

        Raises:
            BenchFault: ROBOT_FAULT; the action does not exist.
        """
        if not self._cancel.service_is_ready():
            raise robot_fault(f"the action '{self.name}' is not there")

        def on_answer(future: Any) -> None:
            if (answer := future.result()) is not None:
                self.answered = True
                done(bool(answer.goals_canceling))

        self._cancel.call_async(CancelGoal.Request()).add_done_callback(on_answer)

    def _on_answer(self, identity: bytes, answer: Any, rejected: Callable[[], None], ended: Ended) -> None:
        with self._lock:
            if self._sent.pop(identity, None) is None or answer is None:
                return
        if not answer.accepted:
            rejected()
            return
        request = self._types.GetResultService.Request(goal_id=UUID(uuid=list(identity)))
        future = self._result.call_async(request)
        with self._lock:
            self._awaited[identity] = future
            old = self._awaited.popitem(last=False)[1] if len(self._awaited) > KEPT else None
        if old is not None:
            self._result.remove_pending_request(old)
        future.add_done_callback(lambda done: self._on_result(identity, done.result(), ended))

    def _on_result(self, identity: bytes, response: Any, ended: Ended) -> None:
        with self._lock:
            known = self._awaited.pop(identity, None) is not None
        if known and response is not None:
            ended(response.status, response.result)


def status_in_words(status: int) -> str:
    """Return the end of a goal, in words."""
    words = {GoalStatus.STATUS_ABORTED: "aborted", GoalStatus.STATUS_CANCELED: "cancelled"}
    return words.get(status, f"ended with status {status}")
