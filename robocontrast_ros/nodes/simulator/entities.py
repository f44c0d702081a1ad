"""The simulator's services about entities: their names and states, spawning and deleting."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulation_interfaces.msg import EntityState, Result, Spawnable
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    GetSpawnables,
    SetEntityState,
    SpawnEntity,
)
from std_msgs.msg import Header

from robocontrast_ros.nodes.conversions import simulation as convert
from robocontrast_ros.nodes.conversions.domain import header
from robocontrast_ros.nodes.conversions.simulation import Refusal
from robocontrast_ros.nodes.simulation_version import resource_of, sets

if TYPE_CHECKING:
    from robocontrast_ros.worlds.engines.world import EngineWorld
    from robocontrast_ros.worlds.mujoco.world import World

VALID_NAMESPACE = re.compile(r"(/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?")


class EntityServices:
    """Answers the requests: each method fills in its response, or raises an error, which becomes the result."""

    def __init__(
        self,
        world: World | EngineWorld,
        spawnables: Sequence[str],
        now: Callable[[], int],
        formats: Collection[str] = tuple(convert.FORMATS),
    ) -> None:
        """Take the world.

        Args:
            world: the world.
            spawnables: the URIs for GetSpawnables.
            now: returns the time of the world's state [ns].
            formats: suffixes of the files that can be spawned.
        """
        self._formats = formats
        self._world, self._spawnables, self._now = world, spawnables, now
        self._frame = world.profile.world_frame
        self._state_messages = convert.EntityStateMessages()

    def answers(self) -> dict[str, tuple[type, Callable[[Any, Any], None]]]:
        """Return name of each service -> its type, and the method that answers it."""
        return {
            "get_entities": (GetEntities, self._get_entities),
            "get_entity_state": (GetEntityState, self._get_entity_state),
            "get_entities_states": (GetEntitiesStates, self._get_entities_states),
            "get_entity_info": (GetEntityInfo, self._get_entity_info),
            "get_entity_bounds": (GetEntityBounds, self._get_entity_bounds),
            "set_entity_state": (SetEntityState, self._set_entity_state),
            "spawn_entity": (SpawnEntity, self._spawn_entity),
            "delete_entity": (DeleteEntity, lambda request, _: self._world.delete(request.entity)),
            "get_spawnables": (GetSpawnables, self._get_spawnables),
        }

    def _get_entities(self, request: Any, response: Any) -> None:
        response.entities = convert.select(self._world, request.filters)

    def _get_entity_state(self, request: Any, response: Any) -> None:
        response.state = self._state(request.entity, header(self._frame, self._now()))

    def _get_entities_states(self, request: Any, response: Any) -> None:
        response.entities = convert.select(self._world, request.filters)
        now = header(self._frame, self._now())
        response.states = [self._state(name, now) for name in response.entities]

    def _state(self, name: str, now: Header) -> EntityState:
        return self._state_messages.fill(name, self._world.entity_state(name), now)

    def _get_entity_info(self, request: Any, response: Any) -> None:
        name = request.entity
        response.info = convert.entity_info_to_msg(self._world.category(name), self._world.source(name))

    def _get_entity_bounds(self, request: Any, response: Any) -> None:
        response.bounds = convert.bounds_to_msg(self._world.bounds(request.entity))

    def _set_entity_state(self, request: Any, _: Any) -> None:
        state = convert.entity_state_from_msg(request.state, self._frame)
        sets_pose, sets_twist = sets(request)
        if not (sets_pose and sets_twist):
            now = self._world.entity_state(request.entity)
            state = replace(
                state, pose=state.pose if sets_pose else now.pose, twist=state.twist if sets_twist else now.twist
            )
        self._world.set_entity_state(request.entity, state)

    def _spawn_entity(self, request: Any, response: Any) -> None:
        _check_spawn(request, self._formats)
        wanted = request.name or ("entity" if request.allow_renaming else "")
        name = convert.free_name(wanted, self._world.entities()) if request.allow_renaming else wanted
        pose, resource = convert.initial_pose_from_msg(request.initial_pose, self._frame), resource_of(request)
        self._world.spawn(name, pose, uri=resource.uri, resource=resource.resource_string)
        response.entity_name = name

    def _get_spawnables(self, request: Any, response: Any) -> None:
        if request.sources:
            raise Refusal(Result.RESULT_OPERATION_FAILED, "no other sources are searched; leave `sources` empty")
        response.spawnables = [Spawnable() for _ in self._spawnables]
        for spawnable, uri in zip(response.spawnables, self._spawnables, strict=True):
            resource_of(spawnable).uri = uri


def _check_spawn(request: Any, formats: Collection[str]) -> None:
    answers, resource = SpawnEntity.Response, resource_of(request)
    if not resource.uri and not resource.resource_string:
        raise Refusal(answers.NO_RESOURCE, "give the model's `uri`, or its text as `resource_string`")
    if resource.uri and Path(resource.uri.partition("#")[0]).suffix.lower() not in formats:
        raise Refusal(
            answers.UNSUPPORTED_FORMAT,
            f"uri: got '{resource.uri}', expected a model file: {', '.join(formats)}",
        )
    if not VALID_NAMESPACE.fullmatch(request.entity_namespace):
        raise Refusal(answers.NAMESPACE_INVALID, f"'{request.entity_namespace}' is no ROS namespace")
