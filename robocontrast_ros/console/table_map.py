"""A scene from above, as the page draws it: polygons in metres, x to the right and y down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.console.questions import SetUpQuestion
from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.strategies.effort import Tolerance, angle_between
from robocontrast_ros.tasks.protocol import RIGHT_AND_UP, Task

TURNED = math.radians(5.0)
"""Turns up to this angle are not told [rad]."""

SIGMAS = 2.0
"""Standard deviations of an estimate that are allowed besides a tolerance."""

MARGIN = 0.05
"""Share of the picture's larger side that is left free around it."""


class TableMap:
    """Draws the scenes of a task."""

    def __init__(self, task: Task) -> None:
        """Take the task, whose outlines and backdrop are drawn."""
        self._task = task
        backdrop = task.backdrop
        right, up = RIGHT_AND_UP[backdrop.up if backdrop else "y"]
        self._turn = np.array([right, [-up[0], -up[1]]]).T

    def of(self, question: SetUpQuestion) -> dict[str, Any]:
        """Return the picture of a set-up: what stands where, and what goes where."""
        backdrop, moving = self._task.backdrop, {move.name for move in question.moves}
        ground = [backdrop.floor, *backdrop.walls] if backdrop else []
        standing = [self._object(o) for o in question.present if o.name not in moving]
        # What is large, such as a table, is drawn first, so that it hides nothing.
        objects = sorted(standing, key=lambda o: _area(o["outline"]), reverse=True)
        moves = [self._move(move) for move in question.moves]
        shown = [self._points(polygon) for polygon in ground]
        # What is to be moved may stand beside the table.
        carried = [move[key] for move in moves for key in ("from_outline", "to_outline") if key in move]
        corners = [point for polygon in (*shown, *(o["outline"] for o in objects), *carried) for point in polygon]
        return {
            "floor": shown[0] if shown else [],
            "walls": shown[1:],
            "objects": objects,
            "moves": moves,
            "box": _box(corners),
        }

    def standing(self, scene: Scene, regions: Sequence[ArrayLike], path: ArrayLike) -> dict[str, Any]:
        """Return the picture of a scene: what stands where, the robot, regions of a goal, and a path."""
        drawn = self.of(SetUpQuestion(scene, scene, ()))
        return {
            **drawn,
            "robot": self._point(scene.robot.xy) if scene.robot is not None else None,
            "regions": [self._points(region) for region in regions],
            "path": self._points(path),
        }

    def in_scene(self, points: ArrayLike) -> tuple[tuple[float, float], ...]:
        """Return points of the picture in the scene's frame [m]."""
        found = np.asarray(points, dtype=float).reshape(-1, 2) @ self._turn.T
        return tuple((float(x), float(y)) for x, y in found)

    def _object(self, item: ObjectState) -> dict[str, Any]:
        return {
            "name": in_words(item.name),
            "at": self._point(item.pose.xy),
            "outline": self._outline(item.model, item.pose),
        }

    def _move(self, move: SetupMove) -> dict[str, Any]:
        drawn: dict[str, Any] = {"id": move.name, "name": in_words(move.name), "words": move_in_words(move)}
        for key, pose in (("from", move.start), ("to", move.goal)):
            if pose is not None:
                drawn[key] = self._point(pose.xy)
                drawn[f"{key}_outline"] = self._outline(move.model, pose)
        return drawn

    def _outline(self, model: str, pose: Pose) -> list[list[float]]:
        outline = np.asarray(self._task.scenes.outline(model), dtype=float).reshape(-1, 2)
        c, s = math.cos(pose.yaw), math.sin(pose.yaw)
        return self._points(outline @ np.array([[c, s], [-s, c]]) + np.asarray(pose.xy))

    def _points(self, points: ArrayLike) -> list[list[float]]:
        return np.round(np.asarray(points, dtype=float).reshape(-1, 2) @ self._turn, 4).tolist()

    def _point(self, point: tuple[float, float]) -> list[float]:
        return self._points([point])[0]


def in_words(name: str) -> str:
    """Return the name of an object as a person reads it."""
    return name.replace("_", " ")


def doubts_in_words(unsure: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a camera is unsure of, as lines for people: one for each reason.

    Args:
        unsure: name of an object -> why its pose is not certain.
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in unsure.items():
        reasons.setdefault(reason, []).append(in_words(name))
    if len(unsure) > 1 and len(reasons) == 1:
        # It is the picture as a whole.
        return tuple(reasons)
    return tuple(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def move_in_words(move: SetupMove) -> str:
    """Return what a person does, with distance and turn."""
    if move.goal is None:
        return "take it out"
    if move.start is None:
        return "bring it in"
    distance, turn = move.start.distance_to(move.goal), angle_between(move.start, move.goal)
    parts = [f"{_metres(distance)}"] if distance >= 0.0005 else []
    if turn > TURNED:
        sense = "left" if _heading(move.goal.yaw - move.start.yaw) > 0 else "right"
        parts.append(f"turn {math.degrees(turn):.0f}° {sense}")
    return ", ".join(parts) or "a little"


def misplaced(
    scene: Scene,
    target: Scene,
    tolerance: Tolerance,
    deviations: Mapping[str, Tolerance] | None = None,
) -> dict[str, str]:
    """Return what stands wrong: name of an object -> what is wrong, in one line.

    Args:
        scene: as it is, or as a camera sees it.
        target: as it should be.
        tolerance: how far an object may be from where it should be.
        deviations: name -> standard deviations of a camera's estimate, twice of which are allowed besides.
    """
    nothing = Tolerance()
    lines = {o.name: f"{in_words(o.name)} should not be there" for o in scene if o.name not in target}
    for wanted in target:
        if wanted.name not in scene:
            lines[wanted.name] = f"{in_words(wanted.name)} is missing"
            continue
        if scene[wanted.name].model != wanted.model:
            lines[wanted.name] = f"{in_words(wanted.name)} is not the right one"
            continue
        pose, spread = scene[wanted.name].pose, (deviations or {}).get(wanted.name, nothing)
        off, turned = pose.distance_to(wanted.pose), angle_between(pose, wanted.pose)
        if off > tolerance.position + SIGMAS * spread.position:
            allowed = _metres(tolerance.position)
            lines[wanted.name] = f"{in_words(wanted.name)} is {_metres(off)} off, allowed is {allowed}"
        elif turned > tolerance.orientation + SIGMAS * spread.orientation:
            degrees, most = math.degrees(turned), math.degrees(tolerance.orientation)
            lines[wanted.name] = f"{in_words(wanted.name)} is turned by {degrees:.0f}°, allowed is {most:.0f}°"
    return lines


def _metres(length: float) -> str:
    return f"{length:.2f} m" if length >= 1.0 else f"{length * 100:.1f} cm"


def _heading(angle: float) -> float:
    return math.atan2(math.sin(angle), math.cos(angle))


def _area(outline: list[list[float]]) -> float:
    """Return the area of a polygon [m²]; 0 without one."""
    if not outline:
        return 0.0
    x, y = np.array(outline).T
    return abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) / 2.0


def _box(points: list[list[float]]) -> list[float]:
    """Return left, top, width and height of the picture [m]."""
    if not points:
        return [0.0, 0.0, 1.0, 1.0]
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    rim = MARGIN * max(float((high - low).max()), 0.1)
    low, size = low - rim, high - low + 2 * rim
    return [*np.round(low, 4).tolist(), *np.round(size, 4).tolist()]
