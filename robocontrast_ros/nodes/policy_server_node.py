"""policy_server: a lifecycle node that holds one policy and answers observations with actions."""

from __future__ import annotations

import math
from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode, State, TransitionCallbackReturn

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.graph.parameters.policy_server import PolicyServerParameters
from robocontrast_ros.messages.decoding import segments_from_msg
from robocontrast_ros.nodes.conversions.domain import description_to_msg, fault_to_msg
from robocontrast_ros.nodes.conversions.driver import observation_from_msg
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving import in_process
from robocontrast_ros.policies.serving.lifecycle import NothingStaged, PolicyLifecycle
from robocontrast_ros.policies.serving.runner import Answer, PolicyRunner
from robocontrast_ros.srv import Act, DescribePolicy, LoadPolicy, ResetPolicy

END_TIMEOUT = 1.0
"""Time for which the end of the process waits for a policy that is still loading [s]."""


class PolicyServer(LifecycleNode):
    """Loads the policy on configure, warms it up and lets it serve on activate, and frees it on cleanup."""

    def __init__(self) -> None:
        """Declare the parameters and the services; load the policy if `autostart` is set."""
        super().__init__("policy_server")
        p = declare_record(self, PolicyServerParameters)
        self._blind = p.blind
        self._policies = PolicyLifecycle(p.loading)
        self.create_service(DescribePolicy, "~/describe", self._describe)
        self.create_service(ResetPolicy, "~/reset", self._reset)
        self.create_service(Act, "~/act", self._act)
        in_process.serve(self.get_fully_qualified_name(), self._answer)
        # Loading takes long; meanwhile the serving policy goes on answering.
        self._loading = Channel(self)
        self._loading.node.create_service(LoadPolicy, f"{self.get_name()}/load", self._load)
        if p.autostart:
            self._policies.activate()
            self.trigger_configure()
            self.trigger_activate()
        self._loading.start()

    def on_configure(self, state: State) -> TransitionCallbackReturn:
        """Load the policy; if that fails, the node stays unconfigured and logs the reason."""
        return self._try(self._policies.configure)

    def on_activate(self, state: State) -> TransitionCallbackReturn:
        """Warm the policy up, and serve; if that fails, the node stays inactive and logs the reason."""
        done = self._try(self._policies.activate)
        if done is not TransitionCallbackReturn.SUCCESS:
            return done
        self.get_logger().info(self._serves(self._policies.serving))
        return super().on_activate(state)

    def on_deactivate(self, state: State) -> TransitionCallbackReturn:
        """Refuse calls until the node is activated again."""
        self._policies.deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: State) -> TransitionCallbackReturn:
        """Free the policy."""
        return self._try(self._policies.free)

    on_shutdown = on_cleanup

    def on_end(self) -> None:
        """Free the policy before the process ends."""
        in_process.withdraw(self.get_fully_qualified_name())
        self._policies.free(END_TIMEOUT)
        self._loading.close()

    def _try(self, transition: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            transition()
        except ConfigurationError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _describe(self, _: DescribePolicy.Request, response: DescribePolicy.Response) -> DescribePolicy.Response:
        try:
            _fill(response, self._policies.serving)
        except PolicyFault as error:
            response.fault = fault_to_msg(error.fault, error.detail)
        return response

    def _load(self, request: LoadPolicy.Request, response: LoadPolicy.Response) -> LoadPolicy.Response:
        try:
            runner = self._policies.swap(request.policy, request.serve)
        except (ConfigurationError, NothingStaged, PolicyFault) as error:
            response.detail = error.detail if isinstance(error, PolicyFault) else str(error)
            self.get_logger().warning(f"the policy is not changed{self._why(response.detail)}")
            return response
        response.accepted = True
        if runner is not None:
            _fill(response, runner)
        if request.serve:
            self.get_logger().info(self._serves(runner))
        return response

    def _reset(self, request: ResetPolicy.Request, response: ResetPolicy.Response) -> ResetPolicy.Response:
        try:
            self._policies.serving.reset(request.instruction, request.seed, segments_from_msg(request.segments))
        except PolicyFault as error:
            self.get_logger().warning(f"{error.fault.name}{self._why(error.detail)}")
            response.fault = fault_to_msg(error.fault, error.detail)
        except ValueError as error:  # of the segments: a policy's own would be a PolicyFault
            response.fault = fault_to_msg(Fault.PERTURBATION_NOT_DELIVERED, f"segments: {error}")
        return response

    def _act(self, request: Act.Request, response: Act.Response) -> Act.Response:
        try:
            answer = self._answer(observation_from_msg(request.observation))
        except PolicyFault as error:
            response.fault = fault_to_msg(error.fault, error.detail)
            return response
        response.stamp = request.observation.header.stamp
        response.count, response.size = answer.actions.shape
        response.actions = answer.actions.ravel().tolist()
        response.latency = answer.latency
        response.observed_instruction = answer.observed.instruction
        response.told = answer.observed.told
        response.segments_digest = answer.observed.segments_digest
        response.image_digest = answer.observed.image_digest
        return response

    def _answer(self, observation: Observation) -> Answer:
        """Return the policy's answer, for `~/act`, or for a rollout of this process."""
        try:
            return self._policies.serving.act(observation)
        except PolicyFault as error:
            self.get_logger().warning(f"{error.fault.name}{self._why(error.detail)}")
            raise

    def _why(self, detail: str) -> str:
        """Return the details of a line in the log; empty if they might show which policy it is."""
        return "" if self._blind else f": {detail}"

    def _serves(self, runner: PolicyRunner) -> str:
        if self._blind:
            return "a policy serves"
        warm_up = "" if runner.warm_up_time is None else f", warmed up in {runner.warm_up_time:.2f} s"
        return f"policy '{runner.description.name}' serves (loaded in {runner.load_time:.2f} s{warm_up}): {runner.path}"


def _fill(response: DescribePolicy.Response | LoadPolicy.Response, runner: PolicyRunner) -> None:
    """Describe a policy in the response of either service."""
    response.description = description_to_msg(runner.description, runner.text, str(runner.path))
    response.load_time = runner.load_time
    response.warm_up_time = math.nan if runner.warm_up_time is None else runner.warm_up_time


def main() -> None:
    """Run the node."""
    run_node(PolicyServer)
