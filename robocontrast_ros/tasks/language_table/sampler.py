"""Draws scenes: blocks at random places on the board, such that an instruction can be given."""

from __future__ import annotations

import math

import numpy as np

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.tasks.language_table.goals import goal_point
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters

_PLACES_PER_BLOCK = 200


def draw_scene(instruction: Instruction, parameters: LanguageTableParameters, rng: np.random.Generator) -> Scene | None:
    """Draw a scene with every block of the task; positions uniform on the board inside its margin, any yaw.

    No two blocks overlap and none is where the tool starts. For ``separate_blocks`` source and target
    are close together and no third block is as close to the source. The point that a relative
    instruction names is as far inside the edges as the blocks are, as in the public environment. None
    when this draw fails.
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


def draw_pose(parameters: LanguageTableParameters, rng: np.random.Generator) -> Pose:
    """Return a standing block's pose: uniform on the board inside its margin, yaw uniform."""
    board = parameters.board
    x = rng.uniform(board.x_min + board.margin, board.x_max - board.margin)
    y = rng.uniform(board.y_min + board.margin, board.y_max - board.margin)
    yaw = rng.uniform(-math.pi, math.pi)
    return Pose.planar(x, y, yaw, parameters.block_size.resting_z)


def has_room(pose: Pose, others: list[Pose], parameters: LanguageTableParameters) -> bool:
    """Tell whether a block there is clear of others and of the tool's start, whatever their yaws."""
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
