"""A scene from above, as the page draws it: polygons in metres, x to the right and y down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.console.questions import ROBOT, SetUpQuestion
from robocontrast_ros.console.tolerances import ANY_ANGLE, is_round
from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.domain.words import name_in_words
from robocontrast_ros.objects import fixed_models, moving_parts
from robocontrast_ros.objects.joints import BETWEEN, Joint, position_in
from robocontrast_ros.strategies.effort import Tolerance, Tolerances, angle_between, with_whole_in_place
from robocontrast_ros.tasks.protocol import RIGHT_AND_UP, Task

SIGMAS = 2.0
"""Standard deviations of an estimate that are allowed besides a tolerance."""

MARGIN = 0.05
"""Share of the picture's larger side that is left free around it."""

LINES = 7
"""Greatest number of the grid's lines along the picture's larger side."""

ROOM = 2.0
"""Size of a scene from which its places are given in metres instead of centimetres [m]."""

STEPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Distances of the grid's lines [m]."""

HEADING = 0.06
"""Length of the mark of the robot's front, as a share of the picture's larger side."""


class TableMap:
    """Draws the scenes of a task."""

    def __init__(self, task: Task, tolerances: Tolerances | None = None) -> None:
        """Take the task, whose outlines and backdrop are drawn, and the tolerances of its objects."""
        self._task, self._tolerances = task, tolerances or Tolerances()
        backdrop = task.backdrop
        right, up = RIGHT_AND_UP[backdrop.up if backdrop else "y"]
        self._turn = np.array([right, [-up[0], -up[1]]]).T
        self._fixed = fixed_models(task.scenes.models.values())
        self._parts = moving_parts(task.scenes.models.values())

    def of(self, question: SetUpQuestion) -> dict[str, Any]:
        """Return the picture of a set-up: the present objects, and the moves."""
        backdrop, moving = self._task.backdrop, {move.name for move in question.moves}
        ground = [backdrop.floor, *backdrop.walls] if backdrop else []
        shown = [self.on_map(polygon) for polygon in ground]
        standing = [o for o in question.present if o.name not in moving]
        background = [o for o in question.target if o.model in self._fixed]
        placed = [(o.model, o.pose) for o in standing if o.model not in self._fixed]
        # An object that is to be moved may be beside the table.
        placed += [
            (move.model, pose) for move in question.moves for pose in (move.start, move.goal) if pose is not None
        ]
        # The table itself may be much larger than the part of it that is used.
        seen = [self._outline(*one) for one in placed]
        seen += [] if shown else [self._outline(o.model, o.pose) for o in background]
        robot = [question.target.robot] if question.bring_robot and question.target.robot is not None else []
        box = _box([point for polygon in (*shown, *seen, [self._point(one.xy) for one in robot]) for point in polygon])
        ahead, room = HEADING * max(box[2:]), max(box[2:]) > ROOM
        objects = [self._object(o) for o in standing if o.model not in self._fixed]
        here = {(o.name, o.model) for o in question.present}
        return {
            "floor": shown[0] if shown else [],
            "walls": shown[1:],
            # Large objects are drawn first, so that they hide nothing.
            "objects": sorted(objects, key=lambda o: _area(o["outline"]), reverse=True),
            "moves": [self._move(move, question.target, box, room) for move in question.moves],
            "background": {
                "names": [name_in_words(o.name) for o in background],
                "outlines": [outline for o in background if (outline := self._outline(o.model, o.pose))],
                "changed": any((o.name, o.model) not in here for o in background),
            },
            "robot": self._robot(robot[0], ahead, room) if robot else None,
            "box": box,
            "grid": self._grid(box, room),
            "unit": "m" if room else "cm",
        }

    def standing(self, scene: Scene, regions: Sequence[ArrayLike], path: ArrayLike) -> dict[str, Any]:
        """Return the picture of a scene: its objects, the robot, regions of a goal, and a path."""
        drawn = self.of(SetUpQuestion(scene, scene, ()))
        return {
            **drawn,
            "robot": self._robot(scene.robot, HEADING * max(drawn["box"][2:]), True) if scene.robot else None,
            "regions": [self.on_map(region) for region in regions],
            "path": self.on_map(path),
        }

    def in_scene(self, points: ArrayLike) -> tuple[tuple[float, float], ...]:
        """Return points of the picture in the scene's frame [m]."""
        found = np.asarray(points, dtype=float).reshape(-1, 2) @ self._turn.T
        return tuple((float(x), float(y)) for x, y in found)

    def _object(self, item: ObjectState) -> dict[str, Any]:
        return {
            "name": name_in_words(item.name),
            "at": self._point(item.pose.xy),
            "outline": self._outline(item.model, item.pose),
        }

    def _move(self, move: SetupMove, target: Scene, box: Sequence[float], room: bool) -> dict[str, Any]:
        exact = self._tolerances.of(move.model)
        drawn: dict[str, Any] = {"id": move.name, "name": name_in_words(move.name), "words": move_in_words(move, exact)}
        for key, pose in (("from", move.start), ("to", move.goal)):
            if pose is not None:
                drawn[key] = self._point(pose.xy)
                drawn[f"{key}_outline"] = self._outline(move.model, pose)
                drawn[f"{key}_front"] = self._front(move.model, pose)
        if move.model in self._parts and move.name in target:
            joint = self._parts[move.model].joint
            state, place = joint_in_words(joint, position_in(target, move.name, joint))
            return drawn | {"words": f"make it {state}" if state else f"move it to {place}", "place": place}
        if move.goal is None:
            drawn["edge"] = self._way_out(drawn["from"], box)
            return drawn
        if move.start is not None and move.start.distance_to(move.goal) > exact.position:
            drawn["distance"] = _metres(move.start.distance_to(move.goal))
        drawn["place"] = place_in_words(move.goal, room, exact)
        return drawn

    def _robot(self, pose: Pose, ahead: float, room: bool) -> dict[str, Any]:
        front = (pose.position[0] + ahead * math.cos(pose.yaw), pose.position[1] + ahead * math.sin(pose.yaw))
        return {
            "id": ROBOT,
            "at": self._point(pose.xy),
            "ahead": self._point(front),
            "place": place_in_words(pose, room, self._tolerances.usual),
        }

    def _way_out(self, start: Sequence[float], box: Sequence[float]) -> list[float]:
        """Return the point where the way to the store, or to the nearest edge, leaves the picture."""
        low, high = np.array(box[:2]), np.array(box[:2]) + np.array(box[2:])
        here = np.array(start)
        if self._task.store is not None:
            way = np.array(self._point(self._task.store[:2])) - here
        else:
            gaps = [*(here - low), *(high - here)]
            way = np.array([(-1, 0), (0, -1), (1, 0), (0, 1)][int(np.argmin(gaps))], dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(way > 0, (high - here) / way, np.where(way < 0, (low - here) / way, np.inf))
        share = float(shares.min())
        return np.round(here + way * share, 4).tolist() if math.isfinite(share) else here.tolist()

    def _grid(self, box: Sequence[float], room: bool) -> list[dict[str, Any]]:
        """Return lines of equal x and y of the scene's frame across the picture, each with its number."""
        left, top, width, height = box
        corners = np.array(self.in_scene([(left, top), (left + width, top + height)]))
        low, high = corners.min(axis=0), corners.max(axis=0)
        step = next((s for s in STEPS if max(width, height) / s <= LINES), STEPS[-1])
        lines = []
        for axis, name in enumerate("xy"):
            for count in range(math.ceil(low[axis] / step), math.floor(high[axis] / step) + 1):
                ends = np.array([low, high])
                ends[:, axis] = count * step
                value = count * step if room else count * step * 100.0
                lines.append({"line": self.on_map(ends), "words": f"{name} {value:.4g}".replace("-", "\u2212")})
        return lines

    def _front(self, model: str, pose: Pose) -> list[float] | None:
        """Return the point where the x axis of an object leaves its outline; None for a round object."""
        outline = np.asarray(self._task.scenes.outline(model), dtype=float).reshape(-1, 2)
        if len(outline) < 3 or is_round(outline):
            return None
        reach = float(outline[:, 0].max())
        x, y = pose.xy
        return self._point((x + reach * math.cos(pose.yaw), y + reach * math.sin(pose.yaw)))

    def _outline(self, model: str, pose: Pose) -> list[list[float]]:
        outline = np.asarray(self._task.scenes.outline(model), dtype=float).reshape(-1, 2)
        c, s = math.cos(pose.yaw), math.sin(pose.yaw)
        return self.on_map(outline @ np.array([[c, s], [-s, c]]) + np.asarray(pose.xy))

    def on_map(self, points: ArrayLike) -> list[list[float]]:
        """Return points of the scene's frame in the picture's coordinates, x to the right and y down [m]."""
        return np.round(np.asarray(points, dtype=float).reshape(-1, 2) @ self._turn, 4).tolist()

    def _point(self, point: tuple[float, float]) -> list[float]:
        return self.on_map([point])[0]


def joint_in_words(joint: Joint, position: float) -> tuple[str, str]:
    """Return the state of a joint at a position [m, or rad], empty if it has no name, and the position in words."""
    state = joint.state(position)
    place = f"{position * 100:.1f} cm" if joint.type == "slide" else f"{math.degrees(position):.0f}°"
    return ("" if state == BETWEEN else state), place.replace("-", "\u2212")


def place_in_words(pose: Pose, room: bool, tolerance: Tolerance) -> str:
    """Return the place of an object, its angle, and its tolerance, in words.

    Args:
        pose: the wanted pose.
        room: whether places are given in metres; else in centimetres, as on a table.
        tolerance: tolerance of the pose.
    """
    x, y = pose.xy
    x_and_y = f"x {x:.2f} m, y {y:.2f} m" if room else f"x {x * 100:.1f} cm, y {y * 100:.1f} cm"
    angle = f"{round(math.degrees(pose.yaw))}°"
    exact = f" (\u00b1{tolerance.position * 100:.3g} cm, \u00b1{math.degrees(tolerance.orientation):.0f}°)"
    if tolerance.orientation >= ANY_ANGLE:
        angle, exact = "any angle", f" (\u00b1{tolerance.position * 100:.3g} cm)"
    return f"{x_and_y}, {angle}{exact}".replace("-", "\u2212")


def doubts_in_words(unsure: Mapping[str, str]) -> tuple[str, ...]:
    """Return the doubts of a camera, as lines for people: one for each reason.

    Args:
        unsure: name of an object -> the reason why its pose is not certain.
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in unsure.items():
        reasons.setdefault(reason, []).append(name_in_words(name))
    if len(unsure) > 1 and len(reasons) == 1:
        # The reason is the picture as a whole.
        return tuple(reasons)
    return tuple(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def move_in_words(move: SetupMove, tolerance: Tolerance) -> str:
    """Return the action of a person: the distance, or the turn, if it exceeds the tolerance.

    Args:
        move: the move of one object.
        tolerance: tolerance of its pose.
    """
    if move.goal is None:
        return "take it out"
    if move.start is None:
        return "bring it in"
    distance, turn = move.start.distance_to(move.goal), angle_between(move.start, move.goal)
    parts = [f"by {_metres(distance)}"] if distance > tolerance.position else []
    if turn > tolerance.orientation:
        sense = "left" if _heading(move.goal.yaw - move.start.yaw) > 0 else "right"
        parts.append(f"turn by {math.degrees(turn):.0f}° to the {sense}")
    return ", ".join(parts) or "look whether it stands right"


def misplaced(
    scene: Scene,
    target: Scene,
    tolerances: Tolerances,
    deviations: Mapping[str, Tolerance] | None = None,
) -> dict[str, str]:
    """Return the objects that are not in their places: name of an object -> its error, in one line.

    Args:
        scene: the present scene, as it is or as a camera sees it.
        target: the wanted scene.
        tolerances: tolerances of the objects' poses.
        deviations: name -> standard deviations of a camera's estimate; twice these are allowed besides.
    """
    nothing = Tolerance()
    fixed = {o.name for o in (*scene, *target) if o.model in tolerances.fixed}
    extra = (o.name for o in scene if o.name not in target and o.name not in fixed)
    lines = {name: f"{name_in_words(name)} should not be there" for name in extra}
    for wanted in (o for o in target if o.name not in fixed):
        if wanted.name not in scene:
            lines[wanted.name] = f"{name_in_words(wanted.name)} is missing"
            continue
        if scene[wanted.name].model != wanted.model:
            lines[wanted.name] = f"{name_in_words(wanted.name)} is not the right one"
            continue
        pose, spread = with_whole_in_place(scene, target, wanted.name), (deviations or {}).get(wanted.name, nothing)
        off, turned, tolerance = *_apart(pose, wanted.pose), tolerances.of(wanted.model)
        if off > tolerance.position + SIGMAS * spread.position:
            allowed = _metres(tolerance.position)
            lines[wanted.name] = f"{name_in_words(wanted.name)} is {_metres(off)} off, allowed is {allowed}"
        elif turned > tolerance.orientation + SIGMAS * spread.orientation:
            degrees, most = math.degrees(turned), math.degrees(tolerance.orientation)
            lines[wanted.name] = f"{name_in_words(wanted.name)} is turned by {degrees:.0f}°, allowed is {most:.0f}°"
    here, start = scene.robot, target.robot
    if here is not None and start is not None and not tolerances.usual.accepts(here, start):
        off, turned = _apart(here, start)
        lines[ROBOT] = f"the robot is {_metres(off)} and {math.degrees(turned):.0f}° from its start"
    return lines


def _apart(pose: Pose, wanted: Pose) -> tuple[float, float]:
    """Return the distance [m] and the angle [rad] between two poses."""
    return pose.distance_to(wanted), angle_between(pose, wanted)


def _metres(length: float) -> str:
    return f"{length:.2f} m" if length >= 0.5 else f"{length * 100:.1f} cm"


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
