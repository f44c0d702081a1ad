"""The standard simulation_interfaces services of any simulator as plain calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from simulation_interfaces.msg import EntityState, Result, SimulationState
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntitiesStates,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.sim_bridge import SimulationServices
from robocontrast_ros.messages.decoding import pose_from_msg, stamp_from_msg
from robocontrast_ros.nodes.bench.asking import answer
from robocontrast_ros.nodes.conversions.domain import pose_to_msg
from robocontrast_ros.nodes.runtime.channel import becomes_true, first_call
from robocontrast_ros.nodes.runtime.intra_process import read_here
from robocontrast_ros.nodes.simulation_version import check_spoken
from robocontrast_ros.worlds.simulated_scene import SimulationError

VERSION_PERIOD = 0.5
"""Period at which the wait for a simulator checks the version of its services [s]."""


class RosSimulation:
    """A ``worlds.Simulation`` over ROS services."""

    def __init__(
        self, node: Node, services: SimulationServices, frame_id: str, timeout: float, plays: bool = False
    ) -> None:
        """Make the clients.

        Args:
            node: the hidden node of a Channel: calls block the caller, and the channel receives the answers.
            services: names of the services.
            frame_id: the simulator's world frame.
            timeout: limit of each call [s].
            plays: whether the simulator runs by itself, and so has to be paused at times.
        """
        self.description = ""
        self._node = node
        self._frame_id = frame_id
        self._timeout = timeout
        self._states = node.create_client(GetEntitiesStates, services.get_entities_states)
        self._clients = {
            kind: node.create_client(kind, name)
            for kind, name in (
                (SetEntityState, services.set_entity_state),
                (SpawnEntity, services.spawn_entity),
                (DeleteEntity, services.delete_entity),
                (ResetSimulation, services.reset_simulation),
                (StepSimulation, services.step_simulation),
                *(((SetSimulationState, services.set_simulation_state),) if plays else ()),
                # Made last and called first: a simulator that has discovered it has discovered the earlier clients.
                (GetSimulatorFeatures, services.get_simulator_features),
            )
        }

    def wait(self, timeout: float) -> None:
        """Wait for the simulator to come up.

        Raises:
            BenchFault: the simulator did not come up within the time [s].
            ConfigurationError: it has another version of simulation_interfaces.
        """
        clients = (self._states, *self._clients.values())
        deadline = time.monotonic() + timeout
        for client in clients:
            # With some middlewares a service of another version is available, with others it never is.
            while not becomes_true(client.service_is_ready, VERSION_PERIOD):
                check_spoken(self._node, clients)
                if time.monotonic() > deadline:
                    raise BenchFault(Fault.SIMULATOR_LOST, f"'{client.srv_name}' is not there after {timeout:g} s")
        check_spoken(self._node, clients)

    def features(self) -> frozenset[int]:
        """Return the numbers of the simulator's features."""
        client, request = self._clients[GetSimulatorFeatures], GetSimulatorFeatures.Request()
        response = answer(client, request, Fault.SIMULATOR_LOST, self._timeout, first_call)
        self.description = response.features.custom_info
        return frozenset(response.features.features)

    def poses(self) -> tuple[int, dict[str, Pose]]:
        """Return the time [ns] and every entity's pose in the world frame."""
        response = self._checked(self._states, GetEntitiesStates.Request(), "to return the entities' states")
        return poses_from_response(response)

    def request_poses(self, then: Callable[[int, dict[str, Pose]], None]) -> None:
        """Request the poses without waiting; ``then`` receives time [ns] and poses when they are known."""
        if (read := read_here(self._states)) is not None:
            then(*read())
            return
        answered = self._states.call_async(GetEntitiesStates.Request())
        answered.add_done_callback(lambda done: then(*poses_from_response(done.result())))

    def set_pose(self, entity: str, pose: Pose) -> None:
        """Put an entity, at rest, at a pose in the world frame."""
        state = EntityState(pose=pose_to_msg(pose))
        state.header.frame_id = self._frame_id
        self._call(SetEntityState.Request(entity=entity, state=state), f"to move '{entity}'")

    def at_once(self) -> AbstractContextManager[None]:
        """Return an empty context: each service call takes effect when it is answered."""
        return nullcontext()

    def spawn(self, entity: str, uri: str, pose: Pose) -> None:
        """Spawn an entity."""
        request = SpawnEntity.Request(name=entity, uri=uri)
        request.initial_pose = PoseStamped(pose=pose_to_msg(pose))
        request.initial_pose.header.frame_id = self._frame_id
        self._call(request, f"to spawn '{entity}'")

    def delete(self, entity: str) -> None:
        """Delete an entity."""
        self._call(DeleteEntity.Request(entity=entity), f"to delete '{entity}'")

    def reset_state(self) -> None:
        """Put everything back to its place at the beginning; time goes on."""
        self._call(ResetSimulation.Request(scope=ResetSimulation.Request.SCOPE_STATE), "to reset")

    def step(self, steps: int) -> None:
        """Let that many physics steps pass."""
        self._call(StepSimulation.Request(steps=steps), "to step")

    def play(self, playing: bool) -> None:
        """Let the world run by itself, or pause it, unless it already does so."""
        state = SimulationState.STATE_PLAYING if playing else SimulationState.STATE_PAUSED
        request = SetSimulationState.Request(state=SimulationState(state=state))
        there = (SetSimulationState.Response.ALREADY_IN_TARGET_STATE,)
        self._checked(self._clients[SetSimulationState], request, "to play" if playing else "to pause", there)

    def _call(self, request: Any, what: str) -> Any:
        kind = next(kind for kind in self._clients if isinstance(request, kind.Request))
        return self._checked(self._clients[kind], request, what)

    def _checked(self, client: Any, request: Any, what: str, fine: tuple[int, ...] = ()) -> Any:
        response = answer(client, request, Fault.SIMULATOR_LOST, self._timeout)
        if response.result.result not in (Result.RESULT_OK, *fine):
            result = response.result
            raise SimulationError(f"the simulator refused {what}: {result.error_message} (code {result.result})")
        return response


def poses_from_response(response: GetEntitiesStates.Response) -> tuple[int, dict[str, Pose]]:
    """Return the time of the states [ns], 0 without entities, and each entity's pose."""
    stamp = max((stamp_from_msg(state.header.stamp) for state in response.states), default=0)
    states = zip(response.entities, response.states, strict=True)
    return stamp, {name: pose_from_msg(state.pose) for name, state in states}
