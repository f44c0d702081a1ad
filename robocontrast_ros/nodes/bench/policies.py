"""Requests of the bench to the policy server: the policy that serves, and the policy that is to serve next."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rclpy.node import Node

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import PolicyRefusal, ServingPolicy
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings
from robocontrast_ros.nodes.bench.asking import answer, ask
from robocontrast_ros.nodes.conversions.domain import description_from_msg
from robocontrast_ros.nodes.runtime.channel import PendingResponse
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.srv import DescribePolicy, LoadPolicy

Response = DescribePolicy.Response | LoadPolicy.Response


class PolicyClients:
    """Clients for the serving policy, and for the policy that is staged beside it."""

    def __init__(
        self,
        node: Node,
        settings: BenchSettings,
        aborted: Callable[[], bool],
        check: Callable[[PolicyDescription, str], None],
    ) -> None:
        """Make the clients; the other arguments are those of ``RosBench``."""
        self._server = settings.policy_server
        self._load_timeout, self._timeout = settings.load_timeout, settings.answer_timeout
        self._aborted, self._fits = aborted, check
        self._load = node.create_client(LoadPolicy, f"{self._server}/load")
        self._describe = node.create_client(DescribePolicy, f"{self._server}/describe")
        self.clients = (self._describe, self._load)

    def serving(self) -> ServingPolicy:
        """Return the serving policy."""
        return _serving_policy(self._described())

    def check(self) -> None:
        """Raise ConfigurationError if the serving policy does not fit."""
        self._check(self._described())

    def stage(self, policy: str) -> ServingPolicy:
        """Have another policy loaded beside the serving one, and check that it fits."""
        response = PendingResponse(self._load, LoadPolicy.Request(policy=policy))
        deadline = time.monotonic() + self._load_timeout + self._timeout
        while not response.arrived(0.2):
            if self._aborted():
                response.give_up()
                raise PolicyRefusal("the session was aborted while it was being loaded")
            if time.monotonic() > deadline or not self._load.service_is_ready():
                response.give_up()
                raise PolicyRefusal(f"'{self._server}' does not answer")
        loaded = response.result(0.0)
        if not loaded.accepted:
            raise PolicyRefusal(loaded.detail)
        try:
            self._check(loaded)
        except ConfigurationError as error:
            # A policy that will never serve must not fill the server's memory.
            self._change(LoadPolicy.Request())
            raise PolicyRefusal(str(error)) from None
        return _serving_policy(loaded)

    def serve(self) -> None:
        """Let the staged policy serve."""
        changed = self._change(LoadPolicy.Request(serve=True))
        if not changed.accepted:
            raise PolicyRefusal(changed.detail)

    def _described(self) -> DescribePolicy.Response:
        return ask(self._describe, DescribePolicy.Request(), Fault.POLICY_SERVER_LOST, self._timeout)

    def _change(self, request: LoadPolicy.Request) -> LoadPolicy.Response:
        return answer(self._load, request, Fault.POLICY_SERVER_LOST, self._timeout)

    def _check(self, response: Response) -> None:
        source = response.description.file or f"what '{self._server}' serves"
        self._fits(description_from_msg(response.description), source)


def _serving_policy(response: Response) -> ServingPolicy:
    return ServingPolicy(
        name=response.description.name,
        file=response.description.file,
        parameters=response.description.parameters,
        load_time=response.load_time,
        warm_up_time=None if math.isnan(response.warm_up_time) else response.warm_up_time,
        description=description_from_msg(response.description),
    )
