"""Requests of the rollout to the policy server: by its services, or called directly if it is in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from sensor_msgs.msg import Image

from robocontrast_ros.domain import Fault, Observed, Segment, stamp_text
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.nodes.conversions.domain import description_from_msg, fault_from_msg, segments_to_msg
from robocontrast_ros.nodes.conversions.driver import array_to_image, observation_to_msg
from robocontrast_ros.nodes.runtime.channel import (
    Call,
    PendingResponse,
    call,
    call_while_there,
    fault_without_answer,
    first_call,
    wait_for,
)
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving.in_process import served
from robocontrast_ros.policies.serving.runner import Answer
from robocontrast_ros.srv import Act, DescribePolicy, ResetPolicy


class PolicyClient:
    """The ``episodes.ports.PolicyConnection`` to a policy server.

    Attributes:
        description: description of the serving policy; the caller of ``describe`` sets it if it fits.
    """

    description: PolicyDescription | None = None

    def __init__(self, node: Node, frame: str, parameters: RolloutParameters, log: RcutilsLogger) -> None:
        """Make the clients of the server's services; observations are in a world frame."""
        self._frame, self._parameters, self._log, server = frame, parameters, log, parameters.policy_server
        self._act = node.create_client(Act, f"{server}/act")
        self._reset = node.create_client(ResetPolicy, f"{server}/reset")
        # Made last and called first: a server that has discovered this client has discovered those before it.
        self._describe = node.create_client(DescribePolicy, f"{server}/describe")

    def wait(self, timeout: float) -> None:
        """Wait up to a time [s] until each service is there."""
        with fault_without_answer(Fault.POLICY_SERVER_LOST):
            for client in (self._describe, self._reset, self._act):
                wait_for(client, timeout)

    def describe(self, how: Call = call) -> PolicyDescription:
        """Return the description of the serving policy."""
        # At the start the policy may still be loading.
        loading = self._parameters.load_timeout if how is first_call else 0.0
        with fault_without_answer(Fault.POLICY_SERVER_LOST):
            answer = how(self._describe, DescribePolicy.Request(), self._parameters.policy_timeout + loading)
        _raise(*fault_from_msg(answer.fault))
        return description_from_msg(answer.description)

    def reset(self, instruction: str, seed: int, segments: tuple[Segment, ...] = ()) -> None:
        """Begin a trial."""
        request = ResetPolicy.Request(instruction=instruction, seed=seed, segments=segments_to_msg(segments))
        limit = self._parameters.policy_timeout + self._parameters.load_timeout
        with fault_without_answer(Fault.POLICY_SERVER_LOST):
            answer = call_while_there(self._reset, request, limit)
        _raise(*fault_from_msg(answer.fault))

    @staticmethod
    def shown(images: dict[str, Image]) -> dict[str, NDArray[np.uint8]]:
        """Return the images as the policy receives them.

        Raises:
            BenchFault: an image cannot be read.
        """
        try:
            return {name: image_to_array(image) for name, image in images.items()}
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None

    @staticmethod
    def packed(images: Mapping[str, NDArray[np.uint8]], like: dict[str, Image]) -> dict[str, Image]:
        """Return images as messages, with the stamps and frames of the messages ``like`` of the same cameras."""
        return {
            name: array_to_image(pixels, like[name].header.frame_id, stamp_from_msg(like[name].header.stamp))
            for name, pixels in images.items()
        }

    def request_actions(self, observation: Observation, images: dict[str, Image]) -> PendingActions | AnsweredActions:
        """Request actions, without waiting for them; the images are the received messages."""
        act = served(self._act.srv_name.removesuffix("/act"))
        if act is not None:
            # The pixels may belong to a message that is still to be published, and a policy may change its images.
            shown = {name: pixels.copy() for name, pixels in self.shown(images).items()}
            return AnsweredActions(act, replace(observation, images=shown))
        request = Act.Request(observation=observation_to_msg(observation, self._frame, images))
        response = PendingResponse(self._act, request)
        return PendingActions(response, observation.stamp, self._parameters.policy_timeout)


class PendingActions:
    """Actions that were requested from the policy server's service."""

    def __init__(self, response: PendingResponse, stamp: int, timeout: float) -> None:
        """Take the pending response, the observation's stamp [ns], and the limit of the wait [s]."""
        self._response, self._stamp, self._timeout = response, stamp, timeout

    def arrived(self, timeout: float) -> bool:
        """Wait up to a time [s], and return whether the actions have arrived."""
        return self._response.arrived(timeout)

    def result(self) -> Answer:
        """Wait for the actions."""
        with fault_without_answer(Fault.POLICY_SERVER_LOST):
            answer = self._response.result(self._timeout)
        _raise(*fault_from_msg(answer.fault))
        stamp = stamp_from_msg(answer.stamp)
        if stamp != self._stamp:
            raise PolicyFault(
                Fault.POLICY_TIMEOUT,
                f"late: it answered the observation of {stamp_text(stamp)}, asked about that of "
                f"{stamp_text(self._stamp)}",
            )
        actions = np.asarray(answer.actions, dtype=np.float64).reshape(answer.count, answer.size)
        observed = Observed(answer.observed_instruction, answer.image_digest, answer.told, answer.segments_digest)
        return Answer(actions, answer.latency, observed)


class AnsweredActions:
    """Actions of a policy that was called when it was asked for them."""

    def __init__(self, act: Callable[[Observation], Answer], observation: Observation) -> None:
        """Call the policy and wait for it."""
        self._answer: Answer | None = None
        self._fault: PolicyFault | None = None
        try:
            self._answer = act(observation)
        except PolicyFault as error:
            self._fault = error

    def arrived(self, timeout: float) -> bool:
        """Return True: the policy was waited for."""
        return True

    def result(self) -> Answer:
        """Return the actions."""
        if self._fault is not None:
            _raise(self._fault.fault, self._fault.detail)
        assert self._answer is not None
        return self._answer


def _raise(fault: Fault, detail: str) -> None:
    if fault is not Fault.NONE:
        raise (PolicyFault if fault.of_policy else BenchFault)(fault, detail) from None
