"""Conversion of the embedded world's values to the messages of simulation_interfaces 1.x and back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from geometry_msgs.msg import PoseStamped, Vector3
from simulation_interfaces.msg import Bounds as BoundsMsg
from simulation_interfaces.msg import EntityCategory, EntityFilters, EntityInfo, Result, SimulatorFeatures
from simulation_interfaces.msg import EntityState as EntityStateMsg
from simulation_interfaces.srv import SetEntityState, SpawnEntity
from std_msgs.msg import Header

from robocontrast_ros.domain import Pose
from robocontrast_ros.messages.decoding import pose_from_msg
from robocontrast_ros.nodes.conversions.driver import DRIVER
from robocontrast_ros.worlds.mujoco import entities
from robocontrast_ros.worlds.mujoco.entities import Bounds, Category, EntityState
from robocontrast_ros.worlds.mujoco.entities import Twist as WorldTwist
from robocontrast_ros.worlds.simulation import FORMATS as FORMAT_OF

if TYPE_CHECKING:
    from robocontrast_ros.worlds.engines.world import EngineWorld
    from robocontrast_ros.worlds.mujoco.world import World

camera_info_to_msg = DRIVER.camera_info

FEATURES = (
    SimulatorFeatures.SPAWNING,
    SimulatorFeatures.DELETING,
    SimulatorFeatures.ENTITY_BOUNDS,
    SimulatorFeatures.ENTITY_BOUNDS_BOX,
    SimulatorFeatures.ENTITY_CATEGORIES,
    SimulatorFeatures.SPAWNING_RESOURCE_STRING,
    SimulatorFeatures.ENTITY_STATE_GETTING,
    SimulatorFeatures.ENTITY_STATE_SETTING,
    SimulatorFeatures.ENTITY_INFO_GETTING,
    SimulatorFeatures.SPAWNABLES,
    SimulatorFeatures.SIMULATION_RESET,
    SimulatorFeatures.SIMULATION_RESET_TIME,
    SimulatorFeatures.SIMULATION_RESET_STATE,
    SimulatorFeatures.SIMULATION_RESET_SPAWNED,
    SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING,
    SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE,
    SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
)
"""Features of the simulator node; test/graph/test_simulator_node.py tries each."""

FORMATS = {suffix: FORMAT_OF[suffix] for suffix in (".xml", ".mjcf", ".yaml", ".yml")}
"""Suffix of a spawnable file -> its format; a YAML file is one of ``config/objects``, with a #VARIANT."""

_CATEGORIES = {
    Category.ROBOT: EntityCategory.CATEGORY_ROBOT,
    Category.STATIC_OBJECT: EntityCategory.CATEGORY_STATIC_OBJECT,
    Category.DYNAMIC_OBJECT: EntityCategory.CATEGORY_DYNAMIC_OBJECT,
}

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (entities.UnknownEntity, Result.RESULT_NOT_FOUND),
    (entities.InvalidName, SpawnEntity.Response.NAME_INVALID),
    (entities.NameNotUnique, SpawnEntity.Response.NAME_NOT_UNIQUE),
    (entities.ResourceNotFound, SpawnEntity.Response.NO_RESOURCE),
    (entities.InvalidModel, SpawnEntity.Response.RESOURCE_PARSE_ERROR),
    (entities.NotMovable, Result.RESULT_OPERATION_FAILED),
    (entities.SimulationDiverged, Result.RESULT_OPERATION_FAILED),
)


class Refusal(Exception):
    """A request that cannot be served, with the code of simulation_interfaces and the reason."""

    def __init__(self, code: int, reason: str) -> None:
        """Take the code and the reason in words."""
        super().__init__(reason)
        self.code = code


def result_of(action: Callable[[], None]) -> Result:
    """Run an action on the world and return its result, with code and message."""
    try:
        action()
    except Refusal as refusal:
        return Result(result=refusal.code, error_message=str(refusal))
    except tuple(kind for kind, _ in _CODES) as error:
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        return Result(result=code, error_message=str(error))
    return Result(result=Result.RESULT_OK)


class EntityStateMessages:
    """One message for each entity, made once, because making its many objects takes longer than all the rest."""

    def __init__(self) -> None:
        """Start with none."""
        self._messages: dict[str, EntityStateMsg] = {}

    def fill(self, name: str, state: EntityState, head: Header) -> EntityStateMsg:
        """Return an entity's message with its state, without acceleration; valid until the next call for it."""
        message = self._messages.get(name)
        if message is None:
            message = self._messages[name] = EntityStateMsg()
        message.header = head
        position, orientation, twist = message.pose.position, message.pose.orientation, message.twist
        position.x, position.y, position.z = state.pose.position
        orientation.x, orientation.y, orientation.z, orientation.w = state.pose.orientation
        twist.linear.x, twist.linear.y, twist.linear.z = state.twist.linear
        twist.angular.x, twist.angular.y, twist.angular.z = state.twist.angular
        return message


def entity_state_from_msg(message: EntityStateMsg, frame_id: str) -> EntityState:
    """Return the wanted state; the acceleration is ignored.

    Raises:
        Refusal: INVALID_POSE: another frame, or not a pose.
    """
    pose = _pose(message.header, message.pose, frame_id, SetEntityState.Response.INVALID_POSE)
    linear, angular = message.twist.linear, message.twist.angular
    return EntityState(pose, WorldTwist((linear.x, linear.y, linear.z), (angular.x, angular.y, angular.z)))


def initial_pose_from_msg(message: PoseStamped, frame_id: str) -> Pose:
    """Return the pose at which an entity is to be spawned.

    Raises:
        Refusal: INVALID_POSE: another frame, or not a pose.
    """
    return _pose(message.header, message.pose, frame_id, SpawnEntity.Response.INVALID_POSE)


def _pose(header_: Header, message: object, frame_id: str, code: int) -> Pose:
    if header_.frame_id not in ("", frame_id):
        raise Refusal(code, f"pose: got frame '{header_.frame_id}', expected '{frame_id}' or none")
    try:
        return pose_from_msg(message)
    except ValueError as error:
        raise Refusal(code, str(error)) from None


def bounds_to_msg(bounds: Bounds | None) -> BoundsMsg:
    """Return the box, upper corner first as in the message's definition; type EMPTY for none."""
    if bounds is None:
        return BoundsMsg(type=BoundsMsg.TYPE_EMPTY)
    corners = [Vector3(x=x, y=y, z=z) for x, y, z in (bounds.upper, bounds.lower)]
    return BoundsMsg(type=BoundsMsg.TYPE_BOX, points=corners)


def entity_info_to_msg(category: Category, source: str) -> EntityInfo:
    """Return an entity's category, and the source of its model."""
    return EntityInfo(category=EntityCategory(category=_CATEGORIES[category]), description=source)


def select(world: World | EngineWorld, filters: EntityFilters) -> list[str]:
    """Return the names of the entities that pass a filter, in the world's order.

    The expression has to match the whole name; a box has to overlap the entity's.

    Raises:
        Refusal: FEATURE_UNSUPPORTED for tags and for bounds that are no box; OPERATION_FAILED for an invalid
            expression.
    """
    if filters.tags.tags:
        raise Refusal(Result.RESULT_FEATURE_UNSUPPORTED, "entities have no tags here; leave `filters.tags` empty")
    if filters.bounds.type not in (BoundsMsg.TYPE_EMPTY, BoundsMsg.TYPE_BOX):
        raise Refusal(Result.RESULT_FEATURE_UNSUPPORTED, "bounds in filters: only a box is supported")
    try:
        expression = re.compile(filters.filter or ".*")
    except re.error as error:
        raise Refusal(
            Result.RESULT_OPERATION_FAILED,
            f"filter: got '{filters.filter}', expected a regular expression: {error}",
        ) from None
    wanted = {category.category for category in filters.categories}
    names = [name for name in world.entities() if expression.fullmatch(name)]
    if wanted:
        names = [name for name in names if wanted & _categories_of(world.category(name))]
    if filters.bounds.type == BoundsMsg.TYPE_BOX:
        if len(filters.bounds.points) != 2:
            raise Refusal(Result.RESULT_OPERATION_FAILED, "bounds of a box: expected 2 points, upper and lower corner")
        upper, lower = ((point.x, point.y, point.z) for point in filters.bounds.points)
        names = [name for name in names if _overlaps(world, name, lower, upper)]
    return names


def free_name(wanted: str, taken: tuple[str, ...]) -> str:
    """Return the wanted name, or, if it is taken, the first free one with a number at its end."""
    candidates = itertools.chain((wanted,), (f"{wanted}_{number}" for number in itertools.count(1)))
    return next(name for name in candidates if name not in taken)


def _categories_of(category: Category) -> set[int]:
    objects = {EntityCategory.CATEGORY_OBJECT} if category is not Category.ROBOT else set()
    return objects | {_CATEGORIES[category]}


def _overlaps(world: World | EngineWorld, name: str, lower: tuple[float, ...], upper: tuple[float, ...]) -> bool:
    box = world.world_bounds(name)
    return box is not None and all(
        box.lower[axis] <= upper[axis] and box.upper[axis] >= lower[axis] for axis in range(3)
    )
