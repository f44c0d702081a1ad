"""The standard simulation_interfaces services of any simulator as plain calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.client import Client
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier
from simulation_interfaces.msg import Bounds, EntityState, Result, SimulationState
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityState,
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
from robocontrast_ros.nodes.runtime.simulated_clock import SimulatedClock
from robocontrast_ros.nodes.simulation_version import check_spoken, resource_of, set_all
from robocontrast_ros.worlds.backends import named
from robocontrast_ros.worlds.simulation import Feature, SimulationError

VERSION_PERIOD = 0.5
"""Period at which the wait for a simulator checks the version of its services [s]."""

LATE_SERVICE = 10.0
"""Time after its other services in which a service that a simulator may lack has to be there [s]."""

_SERVICE_OF = {
    Feature.SPAWNING: SpawnEntity,
    Feature.DELETING: DeleteEntity,
    Feature.ENTITY_BOUNDS: GetEntityBounds,
    Feature.SIMULATION_RESET: ResetSimulation,
    Feature.SIMULATION_STATE_SETTING: SetSimulationState,
}
"""Feature -> the service without which it is none, whatever the simulator says."""


class RosSimulation:
    """A ``worlds.Simulation`` over ROS services.

    With a clock it is a simulator of others: the stamps of its states may be 0 or another clock's and are not read,
    services may lack, and the answer to a request for steps may come before they were made.
    """

    def __init__(
        self,
        node: Node,
        services: SimulationServices,
        frame_id: str,
        timeout: float,
        plays: bool = False,
        clock: SimulatedClock | None = None,
        entities: Mapping[str, str] | None = None,
    ) -> None:
        """Make the clients.

        Args:
            node: the hidden node of a Channel: calls block the caller, and the channel receives the answers.
            services: names of the services.
            frame_id: the simulator's world frame.
            timeout: limit of each call [s].
            plays: whether the simulator runs by itself, and so has to be paused at times.
            clock: the clock of a simulator of others that is stepped.
            entities: name of an object or of the robot -> its entity in the simulator; ``*`` for all others, with
                ``{name}`` for the name.
        """
        self.description, self.formats = "", frozenset[str]()
        self._node = node
        self._frame_id = frame_id
        self._timeout, self._clock, self._entities = timeout, clock, EntityNames(entities or {})
        self._one_by_one = False
        self._states = node.create_client(GetEntitiesStates, services.get_entities_states)
        self._list = node.create_client(GetEntities, services.get_entities)
        self._state = node.create_client(GetEntityState, services.get_entity_state)
        self._optional = {
            kind: node.create_client(kind, name)
            for kind, name in (
                (SpawnEntity, services.spawn_entity),
                (DeleteEntity, services.delete_entity),
                (GetEntityBounds, services.get_entity_bounds),
                (ResetSimulation, services.reset_simulation),
                *(((SetSimulationState, services.set_simulation_state),) if not plays else ()),
            )
        }
        self._clients = {
            kind: node.create_client(kind, name)
            for kind, name in (
                (SetEntityState, services.set_entity_state),
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
        required, deadline = tuple(self._clients.values()), time.monotonic() + timeout
        clients = (self._states, *self._optional.values(), *required)
        for client in required:
            # With some middlewares a service of another version is available, with others it never is.
            while not becomes_true(client.service_is_ready, VERSION_PERIOD):
                check_spoken(self._node, clients)
                if time.monotonic() > deadline:
                    raise self._missing(client, timeout)
        # States that are asked for one by one are not of one time, unless the world stands still.
        late = timeout if self._clock is None else min(LATE_SERVICE, timeout)
        if not becomes_true(self._states.service_is_ready, late):
            check_spoken(self._node, clients)
            if self._clock is None or not (self._list.service_is_ready() and self._state.service_is_ready()):
                raise self._missing(self._states, timeout)
            self._one_by_one = True
        check_spoken(self._node, clients)

    def _missing(self, client: Client, timeout: float) -> BenchFault:
        """Return the fault of a service that is not there, with those that are."""
        prefix = client.service_name.rpartition("/")[0]
        there = sorted(
            name.removeprefix(f"{prefix}/")
            for name, kinds in self._node.get_service_names_and_types()
            if name.startswith(f"{prefix}/") and kinds[0].startswith("simulation_interfaces/")
            # Those of our own clients are listed, too.
            if self._node.count_services(name)
        )
        words = f"there are {', '.join(there)}" if there else f"there are no services of a simulator under '{prefix}/'"
        return BenchFault(Fault.SIMULATOR_LOST, f"'{client.srv_name}' is not there after {timeout:g} s; {words}")

    def features(self) -> frozenset[int]:
        """Return the numbers of the simulator's features, as far as their services are there.

        Raises:
            BenchFault: it does not answer.
        """
        client, request = self._clients[GetSimulatorFeatures], GetSimulatorFeatures.Request()
        try:
            response = answer(client, request, Fault.SIMULATOR_LOST, self._timeout, first_call)
        except BenchFault as fault:
            words = (
                f"{fault.detail}, although it is there: it hangs, or its middleware (RMW_IMPLEMENTATION) is not ours"
            )
            raise BenchFault(fault.fault, f"{words}, {get_rmw_implementation_identifier()}") from None
        self.description = response.features.custom_info
        self.formats = frozenset(form.lower() for form in response.features.spawn_formats)
        found = frozenset(response.features.features)
        return frozenset(feature for feature in found if self._served(feature))

    def _served(self, feature: int) -> bool:
        """Return whether the service of a feature is there; a feature without a service of its own is."""
        kind = _SERVICE_OF.get(feature)
        if kind is None or kind in self._clients:
            return True
        return becomes_true(self._optional[kind].service_is_ready, LATE_SERVICE)

    def poses(self) -> tuple[int, dict[str, Pose]]:
        """Return the time [ns] and every entity's pose in the world frame."""
        if self._one_by_one:
            response = self._checked(self._list, GetEntities.Request(), "to list the entities")
            names = self._entities.ours(response.entities)
            requests = [GetEntityState.Request(entity=entity) for entity in names]
            states = [self._checked(self._state, r, f"to return the state of '{r.entity}'").state for r in requests]
            return self._timed(0, _poses(names.values(), states))
        response = self._checked(self._states, GetEntitiesStates.Request(), "to return the entities' states")
        return self._poses_of(response)

    def request_poses(self, then: Callable[[int, dict[str, Pose]], None]) -> None:
        """Request the poses without waiting; ``then`` receives time [ns] and poses when they are known."""
        if (read := read_here(self._states)) is not None:
            then(*read())
            return
        if self._one_by_one:
            # Answers come in the thread of this call, which must not wait for them.
            threading.Thread(target=self._pass_on, args=(then,), daemon=True).start()
            return
        answered = self._states.call_async(GetEntitiesStates.Request())
        answered.add_done_callback(lambda done: then(*self._poses_of(done.result())))

    def _pass_on(self, then: Callable[[int, dict[str, Pose]], None]) -> None:
        try:
            then(*self.poses())
        except (SimulationError, BenchFault) as error:
            # Whoever waits for the scene says that it did not come.
            self._node.get_logger().error(str(error), throttle_duration_sec=5.0)

    def _poses_of(self, response: GetEntitiesStates.Response) -> tuple[int, dict[str, Pose]]:
        """Return the time [ns] and the poses of a response, by our names."""
        stamp, poses = poses_from_response(response)
        return self._timed(stamp, {ours: poses[entity] for entity, ours in self._entities.ours(poses).items()})

    def _timed(self, stamp: int, poses: dict[str, Pose]) -> tuple[int, dict[str, Pose]]:
        return stamp if self._clock is None else self._clock.now, poses

    def set_pose(self, entity: str, pose: Pose) -> None:
        """Put an entity, at rest, at a pose in the world frame."""
        state = EntityState(pose=pose_to_msg(pose))
        state.header.frame_id = self._frame_id
        request = SetEntityState.Request(entity=self._entities.theirs(entity), state=state)
        set_all(request)
        self._call(request, f"to move '{entity}'")

    def at_once(self) -> AbstractContextManager[None]:
        """Return an empty context: each service call takes effect when it is answered."""
        return nullcontext()

    def spawn(self, entity: str, uri: str, pose: Pose) -> None:
        """Spawn an entity."""
        request = SpawnEntity.Request(name=self._entities.theirs(entity))
        resource_of(request).uri = uri
        request.initial_pose = PoseStamped(pose=pose_to_msg(pose))
        request.initial_pose.header.frame_id = self._frame_id
        self._call(request, f"to spawn '{entity}'")

    def delete(self, entity: str) -> None:
        """Delete an entity."""
        self._call(DeleteEntity.Request(entity=self._entities.theirs(entity)), f"to delete '{entity}'")

    def bounds(self, entity: str) -> tuple[float, float] | None:
        """Return length and width of an entity that is not turned, from above [m]; None if it has no box."""
        request = GetEntityBounds.Request(entity=self._entities.theirs(entity))
        found = self._call(request, f"to return the bounds of '{entity}'").bounds
        if found.type != Bounds.TYPE_BOX or len(found.points) < 2:
            return None
        xs, ys = [point.x for point in found.points], [point.y for point in found.points]
        return max(xs) - min(xs), max(ys) - min(ys)

    def reset_state(self) -> None:
        """Put everything back to its place at the beginning; time goes on."""
        self._call(ResetSimulation.Request(scope=ResetSimulation.Request.SCOPE_STATE), "to reset")

    def step(self, steps: int) -> None:
        """Let that many physics steps pass."""

        def act() -> None:
            self._call(StepSimulation.Request(steps=steps), "to step")

        act() if self._clock is None else self._clock.stepped(steps, act)

    def play(self, playing: bool) -> None:
        """Let the world run by itself, or pause it, unless it already does so."""
        state = SimulationState.STATE_PLAYING if playing else SimulationState.STATE_PAUSED
        request = SetSimulationState.Request(state=SimulationState(state=state))
        there = (SetSimulationState.Response.ALREADY_IN_TARGET_STATE,)
        client = self._clients.get(SetSimulationState) or self._optional[SetSimulationState]
        self._checked(client, request, "to play" if playing else "to pause", there)

    def _call(self, request: Any, what: str) -> Any:
        clients = self._clients | self._optional
        kind = next(kind for kind in clients if isinstance(request, kind.Request))
        return self._checked(clients[kind], request, what)

    def _checked(self, client: Any, request: Any, what: str, fine: tuple[int, ...] = ()) -> Any:
        response = answer(client, request, Fault.SIMULATOR_LOST, self._timeout)
        if response.result.result not in (Result.RESULT_OK, *fine):
            result = response.result
            raise SimulationError(f"the simulator refused {what}: {result.error_message} (code {result.result})")
        return response


class EntityNames:
    """Names of entities in a simulator, and ours."""

    def __init__(self, entities: Mapping[str, str]) -> None:
        """Take our name -> the simulator's; ``*`` for all others, with ``{name}`` for the name."""
        self._entities = entities
        self._back = {theirs: ours for ours, theirs in entities.items() if ours != "*"}
        self._before, _, self._after = entities.get("*", "{name}").partition("{name}")

    def theirs(self, name: str) -> str:
        """Return the simulator's name of one of ours."""
        return named(self._entities, name, name)

    def ours(self, entities: Iterable[str]) -> dict[str, str]:
        """Return the simulator's name -> ours, for each entity that has one."""
        found = {}
        for entity in entities:
            if entity in self._back:
                found[entity] = self._back[entity]
            elif entity.startswith(self._before) and entity.endswith(self._after):
                found[entity] = entity.removeprefix(self._before).removesuffix(self._after)
        return found


def poses_from_response(response: GetEntitiesStates.Response) -> tuple[int, dict[str, Pose]]:
    """Return the time of the states [ns], 0 without entities, and each entity's pose."""
    stamp = max((stamp_from_msg(state.header.stamp) for state in response.states), default=0)
    return stamp, _poses(response.entities, response.states)


def _poses(names: Iterable[str], states: Iterable[EntityState]) -> dict[str, Pose]:
    """Return the poses of entities; what a simulator has without a pose (all zeros, NaN) is not there."""
    found = {}
    for name, state in zip(names, states, strict=True):
        with suppress(ValueError):
            found[name] = pose_from_msg(state.pose)
    return found
