"""Harder instances of Language-Table (seed 004, appendix E.1): blocks that look alike, and blocks at the edges."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import shapely

from robocontrast_ros.domain import NotApplicable, ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters
from robocontrast_ros.tasks.language_table.planner import find_push
from robocontrast_ros.tasks.language_table.scenes import draw_pose, has_room
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import Answer, Harder, Infeasible, Task
from robocontrast_ros.tasks.proven import paths, proven

DISTRACTED = "the words mean the same, and the plan stays"
HARDER = "the words mean the same; the source stands nearer to an edge than any drawn one, and has farther to go"

SAME = 1e-9
"""Difference of lengths below which two plans are the same [m]."""

BESIDE = 0.002
"""Least distance between an edge and the tool behind a block [m]."""

OPPOSITE_DEPTH = 0.05
"""Greatest distance of the target block beyond the board's margin from the edge opposite to the source's [m]."""


class BoardDifficulty:
    """Makes instances of Language-Table harder."""

    harder: tuple[Harder, ...] = ("places",)

    def __init__(self, task: Task, parameters: LanguageTableParameters) -> None:
        """Take the task, whose instances are made, and its numbers."""
        self._task, self._p = task, parameters

    def most(self, wanted: int) -> int:
        """Return the number of distractors that can be added, up to a limit."""
        return min(wanted, len(self._p.further))

    def distract(self, base: TestInstance, count: int, rng: np.random.Generator) -> Answer:
        """Add blocks with the colour or the shape of a named one, away from the plan's movements.

        They may be nearer to the edges than blocks that are to be pushed.
        """
        said, scene, names = base.instruction, base.scene, _named(base)
        try:
            push = find_push(self._task.goals.goal(said, scene), scene, self._p, self._task.scenes.start_position[:2])
        except NoPlan as reason:
            return NotApplicable(str(reason))
        tool, size = self._p.tool, self._p.block_size
        tool_room = shapely.LineString(push.path), tool.radius + size.circumradius
        source_room = shapely.LineString(push.route), 2 * size.circumradius
        free = [block for block in self._p.further if block not in scene and _alike(block, names)]
        added: list[ObjectState] = []
        for index in rng.permutation(len(free)):
            if len(added) == count:
                break
            poses = [o.pose for o in (*scene, *added)]
            pose = self._beside(poses, (tool_room, source_room), rng)
            if pose is None:
                continue
            block = ObjectState(free[index], free[index], pose)
            if self._clear(base, Scene((*scene.objects, *added, block))):
                added.append(block)
        if len(added) < count:
            which = "leave the words clear and the way free"
            return NotApplicable(f"only {len(added)} blocks like those named can be added and {which}, not {count}")
        cluttered = Scene((*scene.objects, *added))
        found = self._task.make_instance(base.instance_id, said, cluttered)
        if isinstance(found, Infeasible):
            return NotApplicable(found.reason)
        if abs(found.optimal_path_length - base.optimal_path_length) > SAME:
            return NotApplicable("the plan is another one with the distractors")
        others = [name for name in cluttered.names if name not in names]
        measures = {
            "distractors": float(len(others)),
            "alike": float(sum(_alike(name, names) for name in others)),
            **paths(base, found),
        }
        note = f"{count} distractors: {', '.join(o.name.replace('_', ' ') for o in added)}"
        return proven(found, DISTRACTED, note, measures)

    def harden(self, base: TestInstance, how: Harder, rng: np.random.Generator) -> Answer:
        """Put the source between the board's margin and an edge, and the target block at the opposite edge."""
        said, scene, names = base.instruction, base.scene, _named(base)
        if said.family == "separate_blocks":
            return NotApplicable("blocks that are to be separated stand together, wherever that is")
        others = [o.pose for o in scene if o.name not in names]
        for _ in range(self._p.sampling.relocation_draws):
            poses = self._at_the_edges(len(names), rng)
            if not all(has_room(pose, [*others, *poses[:index]], self._p) for index, pose in enumerate(poses)):
                continue
            moved = scene
            for name, pose in zip(names, poses, strict=True):
                moved = moved.moved(name, pose)
            found = self._task.make_instance(base.instance_id, said, moved)
            if isinstance(found, Infeasible) or found.optimal_path_length <= base.optimal_path_length:
                continue
            distance = scene[names[0]].pose.distance_to(poses[0])
            measures = {**paths(base, found), "moved_m": distance, "edge_m": self._to_edge(poses[0])}
            note = f"moved {' and '.join(name.replace('_', ' ') for name in names)} to the edges"
            return proven(found, HARDER, note, measures)
        return NotApplicable(f"no place at an edge was found from which '{said.text}' is farther to push")

    def _beside(
        self, poses: list[Pose], rooms: Sequence[tuple[shapely.LineString, float]], rng: np.random.Generator
    ) -> Pose | None:
        """Return a free place for a distractor that keeps its distance to some ways; None if none was found."""
        p = self._p.distracting
        for _ in range(p.draws):
            pose = draw_pose(self._p, rng, p.margin)
            here = shapely.Point(pose.xy)
            away = all(shapely.distance(way, here) >= room + p.clearance for way, room in rooms)
            if away and has_room(pose, poses, self._p):
                return pose
        return None

    def _clear(self, base: TestInstance, scene: Scene) -> bool:
        """Return whether the words keep their meaning in a scene."""
        try:
            return self._task.language.parse(base.instruction.words, scene).arguments == base.instruction.arguments
        except ValueError:
            return False

    def _at_the_edges(self, count: int, rng: np.random.Generator) -> list[Pose]:
        """Draw a place for the source beside an edge, and one for a target block beside the opposite one."""
        board, size, tool = self._p.board, self._p.block_size, self._p.tool
        axis, side = int(rng.integers(2)), int(rng.integers(2))
        # The tool has to get between the edge and the block.
        nearest = 2 * tool.radius + size.circumradius + BESIDE
        depths = (nearest, board.margin), (board.margin, board.margin + OPPOSITE_DEPTH)
        poses = []
        for index, (nearer, deeper) in enumerate(depths[:count]):
            depth = rng.uniform(nearer, max(nearer, deeper))
            low = (side + index) % 2 == 0
            place = [
                rng.uniform(a + board.margin, b - board.margin) for a, b in zip(board.low, board.high, strict=True)
            ]
            place[axis] = board.low[axis] + depth if low else board.high[axis] - depth
            poses.append(Pose.planar(*place, rng.uniform(-math.pi, math.pi), size.resting_z))
        return poses

    def _to_edge(self, pose: Pose) -> float:
        (x, y), board = pose.xy, self._p.board
        return min(x - board.x_min, board.x_max - x, y - board.y_min, board.y_max - y)


def _named(base: TestInstance) -> list[str]:
    """Return the blocks that an instruction names, the source first."""
    return [name for key in ("source", "target") if (name := base.instruction.get(key)) is not None]


def _alike(block: str, names: Sequence[str]) -> bool:
    """Return whether a block has the colour or the shape of one of some others."""
    return any(set(block.split("_")) & set(name.split("_")) for name in names)
