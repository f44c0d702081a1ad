"""The board with its blocks: the world, random scenes in which an instruction can be given, and a block moved."""

from __future__ import annotations

import math

import numpy as np

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.tasks.base import ModelScenes
from robocontrast_ros.tasks.language_table.goals import goal_point
from robocontrast_ros.tasks.language_table.outlines import block_outline
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters
from robocontrast_ros.tasks.protocol import Plan, Planner

_PLACES_PER_BLOCK = 200


def board_scenes(parameters: LanguageTableParameters) -> ModelScenes:
    """Return the world model, and a model of each block."""
    models = {b: parameters.block_model.replace("{block}", b) for b in parameters.blocks}
    if parameters.distracting is not None:
        models |= {b: parameters.distracting.block_model.replace("{block}", b) for b in parameters.further}
    models |= parameters.block_models
    return ModelScenes(
        parameters.world,
        parameters.physics_step,
        models,
        lambda block: block_outline(resolve_uri(models[block]), parameters.block_size.radius),
        parameters.tool.start,
        thing="block",
    )


class SourceAlone:
    """The tool pushes the source block of an instruction, and no other."""

    touching = False

    def handled(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the source block's name.

        Raises:
            ValueError: the instruction has none.
        """
        source = instruction.get("source")
        if source is None:
            raise ValueError(f"{instruction.family}: no argument source in {dict(instruction.arguments)}")
        return (source,)

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of a block's centre [m]: blocks are low, and no hand tips them over."""
        return scene[name].pose.position[2]


class BlockRelocation:
    """Moves one block."""

    def __init__(self, parameters: LanguageTableParameters, planner: Planner) -> None:
        self._parameters, self._planner = parameters, planner

    def relocate(self, instruction: Instruction, name: str, scene: Scene, rng: np.random.Generator) -> Scene | None:
        """Return the scene with one block at another place in which the instruction can be given.

        The place is uniform among those; the block keeps its yaw and stands upright. None if all
        ``sampling.relocation_draws`` draws fail.
        """
        sampling = self._parameters.sampling
        here = scene[name].pose
        others = [o.pose for o in scene if o.name != name]
        for _ in range(sampling.relocation_draws):
            there = draw_pose(self._parameters, rng)
            moved = Pose.planar(*there.xy, here.yaw, there.position[2])
            if math.dist(moved.xy, here.xy) < sampling.relocation_distance:
                continue
            if not has_room(moved, others, self._parameters):
                continue
            candidate = scene.moved(name, moved)
            plan = self._planner.plan(instruction, candidate)
            if isinstance(plan, Plan) and plan.length > 0.0:
                return candidate
        return None


def draw_scene(instruction: Instruction, parameters: LanguageTableParameters, rng: np.random.Generator) -> Scene | None:
    """Draw a scene with every block of the task; positions uniform on the board inside its margin, any yaw.

    No two blocks overlap and none is at the tool's start. For ``separate_blocks`` source and target
    are close together and no third block is as close to the source. The point that a relative
    instruction names is as far inside the edges as the blocks are, as in the public environment. None if this draw
    fails.
    """
    poses: dict[str, Pose] = {}
    names = list(parameters.blocks)
    if instruction.family == "separate_blocks":
        first = [str(instruction.get("source")), str(instruction.get("target"))]
        names = first + [n for n in names if n not in first]
    for name in names:
        pose = _place(name, instruction, poses, parameters, rng)
        if pose is None:
            return None
        poses[name] = pose
    scene = Scene(tuple(ObjectState(name, name, poses[name]) for name in parameters.blocks))
    point = goal_point(instruction, scene, parameters)
    if point is not None and not parameters.board.contains(*point, margin=parameters.board.margin):
        return None
    return scene


def draw_pose(parameters: LanguageTableParameters, rng: np.random.Generator, margin: float | None = None) -> Pose:
    """Return an upright block's pose: uniform on the board inside a margin, the board's own if None; yaw uniform."""
    board = parameters.board
    inside = board.margin if margin is None else margin
    x = rng.uniform(board.x_min + inside, board.x_max - inside)
    y = rng.uniform(board.y_min + inside, board.y_max - inside)
    yaw = rng.uniform(-math.pi, math.pi)
    return Pose.planar(x, y, yaw, parameters.block_size.resting_z)


def has_room(pose: Pose, others: list[Pose], parameters: LanguageTableParameters) -> bool:
    """Return whether a block there is clear of others and of the tool's start, whatever their yaws."""
    size, tool = parameters.block_size, parameters.tool
    if math.dist(pose.xy, tool.start[:2]) < size.circumradius + tool.radius:
        return False
    return all(math.dist(pose.xy, other.xy) >= 2 * size.circumradius for other in others)


def _place(
    name: str,
    instruction: Instruction,
    placed: dict[str, Pose],
    parameters: LanguageTableParameters,
    rng: np.random.Generator,
) -> Pose | None:
    separate = parameters.separate_blocks if instruction.family == "separate_blocks" else None
    source = placed.get(str(instruction.get("source")))
    for _ in range(_PLACES_PER_BLOCK):
        pose = draw_pose(parameters, rng)
        if separate is not None and source is not None:
            gap = math.dist(pose.xy, source.xy)
            # The pair is joined and not yet apart; no other block is joined to the source.
            wanted = gap < separate.apart if name == instruction.get("target") else gap >= separate.joined_within
            if not wanted:
                continue
        if has_room(pose, list(placed.values()), parameters):
            return pose
    return None
