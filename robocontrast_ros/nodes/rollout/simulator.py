"""The simulator as the rollout uses it: one control period of simulated time, and camera images on request."""

from __future__ import annotations

from rclpy.node import Node
from simulation_interfaces.srv import StepSimulation

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.rollout.parameters import RolloutParameters
from robocontrast_ros.nodes.runtime.channel import Call, call, fault_without_answer, wait_for
from robocontrast_ros.srv import CaptureImages


class LockstepSimulator:
    """A client of the simulator's services. Its methods raise BenchFault where the simulator does not answer.

    Attributes:
        captures: whether images are taken on request; else they come at every step.
    """

    def __init__(self, node: Node, parameters: RolloutParameters) -> None:
        """Make the clients."""
        self._steps, self._limit = parameters.steps_per_control, parameters.simulator_timeout
        self._step = node.create_client(StepSimulation, parameters.step_simulation)
        self.captures = bool(parameters.capture_images)
        self._capture = (
            node.create_client(CaptureImages, parameters.capture_images) if self.captures else None
        )

    def wait(self, timeout: float) -> None:
        """Wait up to a time [s] until each service is there."""
        with fault_without_answer(Fault.SIMULATOR_LOST):
            for client in filter(None, (self._step, self._capture)):
                wait_for(client, timeout)

    def step(self, how: Call = call) -> None:
        """Let one control period of simulated time pass."""
        with fault_without_answer(Fault.SIMULATOR_LOST):
            result = how(self._step, StepSimulation.Request(steps=self._steps), self._limit).result
        if result.result != result.RESULT_OK:
            raise BenchFault(Fault.SIMULATOR_LOST, f"it refused to step: {result.error_message}")

    def capture(self, how: Call = call) -> None:
        """Have images taken, where they do not come at every step."""
        if self._capture is not None:
            with fault_without_answer(Fault.SIMULATOR_LOST):
                how(self._capture, CaptureImages.Request(), self._limit)
