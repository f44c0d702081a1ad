"""policy_server: a lifecycle node that holds one policy and answers observations with actions."""

from __future__ import annotations

import math
import threading
from pathlib import Path

from pydantic import Field
from rclpy.lifecycle import LifecycleNode, State, TransitionCallbackReturn

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.domain import Fault
from robocontrast_ros.nodes.conversions.domain import fault_to_msg
from robocontrast_ros.nodes.conversions.observation import observation_from_msg
from robocontrast_ros.nodes.conversions.policy import description_to_msg
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import LedParameters, declare_record
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving.direct_line import DirectLine
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT, Answer, PolicyRunner
from robocontrast_ros.policies.serving.swapping import NothingStaged, PolicySlot
from robocontrast_ros.srv import Act, DescribePolicy, LoadPolicy, ResetPolicy

END_TIMEOUT = 1.0
"""How long the end of the process waits for a policy that is just being loaded [s]."""


@record
class PolicyServerParameters(LedParameters):
    """Parameters of the policy server."""

    policy: Path = Field(description="Parameter file of the policy.")
    timeout: float = Field(
        default=10.0, gt=0.0, le=3600.0, description="Limit of each call of the policy [s]."
    )
    load_timeout: float = Field(
        default=LOAD_TIMEOUT,
        gt=0.0,
        le=86400.0,
        description="Limit of loading a policy, and of warming it up [s].",
    )
    autostart: bool = Field(default=True, description="Whether to configure and activate at start-up.")


class PolicyServer(LifecycleNode):
    """Configure loads the policy, activate warms it up and lets it serve, cleanup frees it."""

    def __init__(self) -> None:
        """Declare the parameters and the services; load the policy when `autostart` is set."""
        super().__init__("policy_server")
        self._node_parameters = declare_record(self, PolicyServerParameters)
        self._slot: PolicySlot | None = None
        self._active = False
        # Held while policies come and go; never while one answers.
        self._changing = threading.Lock()
        self.create_service(DescribePolicy, "~/describe", self._describe)
        self.create_service(ResetPolicy, "~/reset", self._reset)
        self.create_service(Act, "~/act", self._act)
        self._line = DirectLine(self._answer)
        # Loading takes long; meanwhile the policy that serves goes on answering.
        self._loading = Channel(self)
        self._loading.node.create_service(LoadPolicy, f"{self.get_name()}/load", self._on_load)
        if self._node_parameters.autostart:
            self._load()
            self._slot.serving.warm_up()
            self.trigger_configure()
            self.trigger_activate()
        self._loading.start()

    def on_configure(self, state: State) -> TransitionCallbackReturn:
        """Load the policy; one that cannot be loaded leaves the node unconfigured and says why."""
        try:
            self._load()
        except ConfigurationError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: State) -> TransitionCallbackReturn:
        """Warm the policy up, and serve; a warm-up that fails leaves the node inactive and says why."""
        try:
            self._load()
            if self._slot.serving.warm_up_time is None:
                self._slot.serving.warm_up()
        except ConfigurationError as error:
            self.get_logger().error(str(error))
            self._free()
            return TransitionCallbackReturn.FAILURE
        self._active = True
        self.get_logger().info(_serves(self._slot.serving))
        return super().on_activate(state)

    def on_deactivate(self, state: State) -> TransitionCallbackReturn:
        """Refuse calls until activated again."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: State) -> TransitionCallbackReturn:
        """Free the policy."""
        self._free()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: State) -> TransitionCallbackReturn:
        """Free the policy for good."""
        self._free()
        return TransitionCallbackReturn.SUCCESS

    def on_end(self) -> None:
        """Free the policy before the process ends."""
        self._line.close()
        self._free(END_TIMEOUT)
        self._loading.close()

    def _load(self) -> None:
        if self._slot is None:
            p = self._node_parameters
            runner = PolicyRunner(p.policy.expanduser().absolute(), p.timeout, p.load_timeout)
            self._slot = PolicySlot(runner)

    def _free(self, timeout: float = -1) -> None:
        held = self._changing.acquire(timeout=timeout)
        slot, self._slot, self._active = self._slot, None, False
        if slot is not None and held:
            slot.close()
        if held:
            self._changing.release()

    def _serving(self) -> PolicyRunner:
        slot = self._slot
        if slot is None or not self._active:
            raise PolicyFault(
                Fault.POLICY_SERVER_LOST, "no policy is active; configure and activate the node"
            )
        return slot.serving

    def _describe(
        self, _: DescribePolicy.Request, response: DescribePolicy.Response
    ) -> DescribePolicy.Response:
        try:
            _tell(self._serving(), response)
        except PolicyFault as error:
            response.fault = fault_to_msg(error.fault, error.detail)
        response.line = self._line.name
        return response

    def _on_load(self, request: LoadPolicy.Request, response: LoadPolicy.Response) -> LoadPolicy.Response:
        with self._changing:
            slot = self._slot
            try:
                self._serving()
                runner = self._change(slot, request)
            except (ConfigurationError, NothingStaged, PolicyFault) as error:
                response.detail = error.detail if isinstance(error, PolicyFault) else str(error)
                self.get_logger().warning(f"the policy stays as it is: {response.detail}")
                return response
        response.accepted = True
        if runner is not None:
            _tell(runner, response)
        if runner is slot.serving:
            self.get_logger().info(_serves(runner))
        return response

    def _change(self, slot: PolicySlot, request: LoadPolicy.Request) -> PolicyRunner | None:
        if request.serve:
            return slot.serve()
        if request.policy:
            return slot.stage(find_file("policies", request.policy, "~/load", "policy", Path.cwd()))
        slot.drop()
        return None

    def _reset(self, request: ResetPolicy.Request, response: ResetPolicy.Response) -> ResetPolicy.Response:
        try:
            self._serving().reset(request.instruction, request.seed)
        except PolicyFault as error:
            self.get_logger().warning(str(error))
            response.fault = fault_to_msg(error.fault, error.detail)
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
        response.image_digest = answer.observed.image_digest
        return response

    def _answer(self, observation: Observation) -> Answer:
        """Ask the policy: for `~/act`, and on the direct line's own thread."""
        try:
            return self._serving().act(observation)
        except PolicyFault as error:
            self.get_logger().warning(str(error))
            raise


def _tell(runner: PolicyRunner, response: DescribePolicy.Response | LoadPolicy.Response) -> None:
    """Fill in what both services tell of a policy."""
    response.description = description_to_msg(runner.description, runner.text, str(runner.path))
    response.load_time = runner.load_time
    response.warm_up_time = math.nan if runner.warm_up_time is None else runner.warm_up_time


def _serves(runner: PolicyRunner) -> str:
    warm_up = "" if runner.warm_up_time is None else f", warmed up in {runner.warm_up_time:.2f} s"
    return f"policy '{runner.description.name}' serves (loaded in {runner.load_time:.2f} s{warm_up}): {runner.path}"


def main() -> None:
    """Run the node."""
    run_node(PolicyServer)
