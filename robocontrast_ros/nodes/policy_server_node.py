"""policy_server: a lifecycle node that holds one policy and answers observations with actions."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from rclpy.lifecycle import LifecycleNode, State, TransitionCallbackReturn

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Fault
from robocontrast_ros.nodes.conversions.domain import fault_to_msg
from robocontrast_ros.nodes.conversions.observation import observation_from_msg
from robocontrast_ros.nodes.conversions.policy import description_to_msg
from robocontrast_ros.nodes.main import run_node
from robocontrast_ros.nodes.parameters import declare_record
from robocontrast_ros.policies.protocol import PolicyFault
from robocontrast_ros.policies.runner import PolicyRunner
from robocontrast_ros.srv import Act, DescribePolicy, ResetPolicy


@record
class PolicyServerParameters:
    """Parameters of the policy server."""

    policy: Path = Field(description="Parameter file of the policy.")
    timeout: float = Field(
        default=10.0, gt=0.0, le=3600.0, description="Limit of each call of the policy [s]."
    )
    autostart: bool = Field(default=True, description="Whether to configure and activate at start-up.")


class PolicyServer(LifecycleNode):
    """Configure loads the policy, activate lets it serve, cleanup frees it."""

    def __init__(self) -> None:
        """Declare the parameters and the services; load the policy when `autostart` is set."""
        super().__init__("policy_server")
        self._parameters = declare_record(self, PolicyServerParameters)
        self._runner: PolicyRunner | None = None
        self._active = False
        self.create_service(DescribePolicy, "~/describe", self._describe)
        self.create_service(ResetPolicy, "~/reset", self._reset)
        self.create_service(Act, "~/act", self._act)
        if self._parameters.autostart:
            self._load()
            self.trigger_configure()
            self.trigger_activate()

    def on_configure(self, state: State) -> TransitionCallbackReturn:
        """Load the policy; a file that does not fit leaves the node unconfigured and says why."""
        try:
            self._load()
        except ConfigurationError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: State) -> TransitionCallbackReturn:
        """Serve."""
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: State) -> TransitionCallbackReturn:
        """Refuse calls until activated again."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: State) -> TransitionCallbackReturn:
        """Free the policy."""
        self.on_end()
        return TransitionCallbackReturn.SUCCESS

    def on_end(self) -> None:
        """Free the policy before the process ends."""
        if self._runner is not None:
            self._runner.close()
        self._runner = None

    def _load(self) -> None:
        if self._runner is None:
            self._runner = PolicyRunner(self._parameters.policy, self._parameters.timeout)

    def _serving(self) -> PolicyRunner:
        if self._runner is None or not self._active:
            raise PolicyFault(
                Fault.POLICY_SERVER_LOST, "no policy is active; configure and activate the node"
            )
        return self._runner

    def _describe(
        self, _: DescribePolicy.Request, response: DescribePolicy.Response
    ) -> DescribePolicy.Response:
        try:
            runner = self._serving()
        except PolicyFault as error:
            response.fault = fault_to_msg(error.fault, error.detail)
            return response
        text = self._parameters.policy.read_text(encoding="utf-8")
        response.description = description_to_msg(runner.description, text)
        return response

    def _reset(self, request: ResetPolicy.Request, response: ResetPolicy.Response) -> ResetPolicy.Response:
        try:
            self._serving().reset(request.instruction, request.seed)
        except PolicyFault as error:
            response.fault = self._failed(error)
        return response

    def _act(self, request: Act.Request, response: Act.Response) -> Act.Response:
        try:
            answer = self._serving().act(observation_from_msg(request.observation))
        except PolicyFault as error:
            response.fault = self._failed(error)
            return response
        response.stamp = request.observation.header.stamp
        response.count, response.size = answer.actions.shape
        response.actions = answer.actions.ravel().tolist()
        response.latency = answer.latency
        response.observed_instruction = answer.observed.instruction
        response.image_digest = answer.observed.image_digest
        return response

    def _failed(self, error: PolicyFault):
        self.get_logger().warning(str(error))
        return fault_to_msg(error.fault, error.detail)


def main() -> None:
    """Run the node."""
    run_node(PolicyServer)
