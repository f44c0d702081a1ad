"""The map of one trial from above: objects, moves of the set-up, reference path and the robot's path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.analysis.figures.charts import BLUE, GREEN, GREY, ORANGE, PINK
from robocontrast_ros.domain import PART, ObjectState, Outcome, Pose, Scene, SetupMove, Trial, TrialResult
from robocontrast_ros.episodes.scoring import CollisionCounter, Sample
from robocontrast_ros.episodes.scoring.collisions import Collisions
from robocontrast_ros.objects import moving_parts
from robocontrast_ros.objects.joints import position_in
from robocontrast_ros.system.disk import new_file
from robocontrast_ros.tasks.protocol import (
    RIGHT_AND_UP,
    Backdrop,
    Goal,
    Polygon,
    RegionGoal,
    StagedGoal,
    Task,
    robot_start,
)

FURNITURE, WALL = "#E3DCCF", "#8A8A8A"
WIDTH, DPI = 6.4, 100


MOVED = 0.005
"""Least distance [m], or angle [rad], by which a thing moves before it is shown."""

FEW_MOVES = 2
"""Greatest number of moves that are drawn with full opacity."""


@dataclass(frozen=True)
class TrialMap:
    """The content of the map of a trial.

    Attributes:
        trial: the trial.
        symbol: symbol of its perturbation, or ``base``.
        start: the scene as it was read back after set-up, without objects that cover nothing.
        final: the scene at the end: the result's, else the last recorded one, else the start scene.
        path: positions of the robot (its tool, or a mobile robot's base), shape (n, 2) [m], from its start on.
        heading: yaw of a mobile robot at the start [rad]; None for a tool.
        collisions: positions of the robot when it began to touch something, shape (n, 2) [m]; empty for a task without
            this score.
        moves: moves of the trial's set-up; of a repeat that needed no move, those of its instance's set-up.
        backdrop: walls and floor; None if the task has none.
        outlines: model -> polygon in the object's frame [m].
        regions: of each subgoal in order, the edges in the scene's frame [m].
        result: the scores; None if the trial has none.
        labels: object -> its name for people; of a moving part, its state, and nothing if its joint is at 0.
    """

    trial: Trial
    symbol: str
    start: Scene
    final: Scene
    path: tuple[tuple[float, float], ...]
    heading: float | None
    collisions: tuple[tuple[float, float], ...]
    moves: tuple[SetupMove, ...]
    backdrop: Backdrop | None
    outlines: dict[str, Polygon]
    regions: tuple[tuple[Polygon, ...], ...]
    result: TrialResult | None
    labels: dict[str, str]

    @classmethod
    def of(
        cls,
        task: Task,
        trial: Trial,
        start: Scene,
        samples: Sequence[Sample],
        result: TrialResult | None,
        moves: Sequence[SetupMove] = (),
        symbol: str = "",
    ) -> TrialMap:
        """Return the map of a trial.

        Args:
            task: its task.
            trial: the trial.
            start: the scene as it was read back after set-up.
            samples: its control steps; empty if it was not recorded.
            result: its scores; None if it has none.
            moves: moves of its set-up.
            symbol: symbol of its perturbation; the perturbation's name if left out.

        Raises:
            KeyError: the task does not know a model of the scene, or the scene lacks an object that the goal needs.
            ValueError: the task does not know the instruction, or the robot's place at the start.
        """
        counter = CollisionCounter(start)
        # A task whose goal needs contact, such as a grasp, has no such score.
        counted = task.scores is None or Collisions.spec.name in task.scores
        models = {o.model for o in start} | {move.model for move in moves}
        scenes = [(sample.scene, sample.robot_pose.xy) for sample in samples if sample.scene is not None]
        last = scenes[-1][0] if scenes else start
        outlines = {model: task.scenes.outline(model) for model in sorted(models)}
        return cls(
            trial=trial,
            symbol=symbol or trial.perturbation,
            start=_seen(start, outlines),
            final=_seen(result.final_scene if result else last, outlines),
            path=(robot_start(task, start).xy, *(s.robot_pose.xy for s in samples)),
            heading=start.robot.yaw if start.robot else None,
            collisions=tuple(xy for scene, xy in scenes if counted and counter.update(scene)),
            moves=tuple(move for move in moves if outlines[move.model]),
            backdrop=task.backdrop,
            outlines=outlines,
            regions=_regions(task.goals.goal(trial.instance.instruction, start), start),
            result=result,
            labels=_labels(task, start),
        )


def _seen(scene: Scene, outlines: dict[str, Polygon]) -> Scene:
    """Return the scene without objects that cover nothing, such as a lamp."""
    return replace(scene, objects=tuple(o for o in scene if outlines.get(o.model)))


def _labels(task: Task, scene: Scene) -> dict[str, str]:
    parts, labels = moving_parts(task.scenes.models.values()), {}
    for item in scene:
        labels[item.name] = item.name.replace("_", " ")
        if item.model in parts:
            joint = parts[item.model].joint
            position = position_in(scene, item.name, joint)
            part = item.name.rpartition(PART)[2].replace("_", " ")
            labels[item.name] = f"{part} {joint.state(position)}" if abs(position) > MOVED else ""
    return labels


def _regions(goal: Goal, scene: Scene) -> tuple[tuple[Polygon, ...], ...]:
    stages = goal.subgoals if isinstance(goal, StagedGoal) else (goal,)
    return tuple(stage.regions(scene) for stage in stages if isinstance(stage, RegionGoal))


def write_map(content: TrialMap, path: Path) -> None:
    """Draw a map with its title into a PNG file.

    Raises:
        DiskError: it cannot be written.
    """
    width, height = _extent(content)
    above, below, inner = 0.66, 0.35, WIDTH - 0.2
    figure = Figure(figsize=(WIDTH, inner * height / width + above + below), dpi=DPI)
    total = figure.get_figheight()
    axes = figure.add_axes((0.1 / WIDTH, below / total, inner / WIDTH, 1.0 - (above + below) / total))
    draw_map(axes, content)
    figure.text(0.5, 1.0 - 0.08 / total, title_of(content), ha="center", va="top", fontsize=8.0)
    figure.text(0.97, 0.04 / total, legend_of(content), ha="right", va="bottom", fontsize=6.5, color=GREY)
    # An existing map is never drawn again, so an incomplete file must not have its name.
    with new_file(path) as part:
        figure.savefig(part, pil_kwargs={"compress_level": 1})


def map_with_path(content: TrialMap) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return a map without its title, and where each place of the robot's path is on it.

    Returns:
        RGB, shape (rows, columns, 3); columns and rows of the places, shape (n, 2) [pixel].
    """
    width, height = _extent(content)
    figure = Figure(figsize=(WIDTH, WIDTH * height / width), dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.04, 0.96, 0.94))
    draw_map(axes, content)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    turn = np.array(RIGHT_AND_UP[content.backdrop.up if content.backdrop else "y"]).T
    places = axes.transData.transform(np.asarray(content.path, dtype=float) @ turn)
    return pixels, np.column_stack((places[:, 0], len(pixels) - places[:, 1]))


def title_of(content: TrialMap) -> str:
    """Return instruction, perturbation, scores and note in words, on four lines at most."""
    trial, result = content.trial, content.result
    words = wrap(f"“{trial.instance.instruction.text}”", 88, max_lines=2, placeholder=" …")
    which = f"trial {trial.trial_id} · {content.symbol} of {trial.base_id}, repeat {trial.repeat}"
    note = wrap(trial.note, 96, max_lines=1, placeholder=" …") if not trial.is_base else []
    return "\n".join([*words, f"{which} · {_scores(result)}", *note])


def legend_of(content: TrialMap) -> str:
    """Return the meaning of the colours that are on the map."""
    parts = {
        "blue: the robot, and what it moved": True,
        "green: reference path": content.trial.instance.reference_path,
        "pink: goal" + (", in order" if len(content.regions) > 1 else ""): content.regions,
        "orange: moved for this trial": any(move.start and move.goal for move in content.moves),
        "✕: collision": content.collisions,
    }
    return " · ".join(words for words, there in parts.items() if there)


def _scores(result: TrialResult | None) -> str:
    if result is None:
        return "no result"
    if result.outcome is Outcome.VOID:
        return "void"
    parts = [
        "success" if result.success else result.outcome.name.lower().replace("_", " "),
        f"progress {result.scores.get('progress', math.nan):.2f}",
    ]
    for name, value in (("SPL", result.scores.get("spl", math.nan)), ("nDTW", result.scores.get("ndtw", math.nan))):
        parts += [] if math.isnan(value) else [f"{name} {value:.2f}"]
    return " · ".join(parts)


def draw_map(axes: Axes, content: TrialMap, names_size: float = 6.5) -> None:
    """Draw a map into axes, with a metre as long in either direction, and names of a size [pt]."""
    sheet = _Sheet(axes, content.backdrop.up if content.backdrop else "y", _corners(content), names_size)
    if content.backdrop:
        sheet.fill([content.backdrop.floor], "white", GREY, 1.0)
        sheet.fill(content.backdrop.walls, WALL, WALL, 0.5)
    floor = content.backdrop.floor if content.backdrop else _corners(content)
    moved = [move for move in content.moves if move.start and move.goal]
    names = {move.name for move in moved}
    placed = {o.name: _placed(content.outlines[o.model], o.pose) for o in content.start}
    sheet.fill([p for n, p in placed.items() if n not in names], FURNITURE, GREY, 0.7)
    sheet.fill([p for n, p in placed.items() if n in names], FURNITURE, ORANGE, 1.4)
    # If a whole scene was set up, its moves must not hide the robot's path.
    strength = 1.0 if len(moved) <= FEW_MOVES else 0.3
    sheet.edges([_placed(content.outlines[m.model], m.start) for m in moved], ORANGE, "--", 0.9, alpha=strength)
    for move in moved:
        sheet.arrow(move.start.xy, move.goal.xy, ORANGE, alpha=strength)
    pushed = _pushed(content.start, content.final)
    sheet.edges([_placed(content.outlines[o.model], o.pose) for o in pushed], BLUE, "-", 1.2)
    for item in pushed:
        sheet.arrow(content.start[item.name].pose.xy, item.pose.xy, BLUE)
    for number, region in enumerate(content.regions, start=1):
        sheet.edges(region, PINK, ":", 1.4, within=floor)
        if len(content.regions) > 1:
            for edge in region:
                sheet.number(number, edge, within=floor)
    for item in content.start:
        sheet.name(item.pose.xy, content.labels[item.name])
    sheet.line(content.trial.instance.reference_path, GREEN, "-", 3.2)
    sheet.line(content.path, BLUE, "-", 1.4)
    sheet.begin(content.path[0], content.heading)
    if len(content.path) > 1:
        sheet.marks(content.path[-1:], "s", BLUE, 5.0)
    sheet.marks(content.collisions, "x", "#C00000", 7.0)


class _Sheet:
    """The rotated map, which draws points of the scene's frame."""

    def __init__(self, axes: Axes, up: str, corners: ArrayLike, names_size: float) -> None:
        self._axes, self._names_size = axes, names_size
        self._turn = np.array(RIGHT_AND_UP[up]).T
        self._frame(*self._bounds(corners))

    def _to(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(points, dtype=float).reshape(-1, 2) @ self._turn

    def fill(self, polygons: Iterable[ArrayLike], face: str, edge: str, width: float) -> None:
        shapes = [self._to(polygon) for polygon in polygons]
        self._axes.add_collection(
            PolyCollection(shapes, facecolors=face, edgecolors=edge, linewidths=width), autolim=False
        )

    def edges(
        self,
        polygons: Iterable[ArrayLike],
        colour: str,
        style: str,
        width: float,
        within: ArrayLike | None = None,
        alpha: float = 1.0,
    ) -> None:
        closed = [self._to([*polygon, polygon[0]]) for polygon in map(np.asarray, polygons)]
        edges = LineCollection(closed, colors=colour, linestyles=style, linewidths=width, alpha=alpha)
        self._axes.add_collection(edges, autolim=False)
        if within is not None:
            low, high = self._bounds(within)
            edges.set_clip_path(Rectangle(low, *(high - low), transform=self._axes.transData))

    def _bounds(self, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        turned = self._to(points)
        return turned.min(axis=0), turned.max(axis=0)

    def line(self, points: ArrayLike, colour: str, style: str, width: float) -> None:
        x, y = self._to(points).T
        self._axes.plot(x, y, style, color=colour, linewidth=width, solid_capstyle="round")

    def marks(self, points: ArrayLike, marker: str, colour: str, size: float) -> None:
        x, y = self._to(points).T
        self._axes.plot(x, y, marker, color=colour, markersize=size, markeredgewidth=2.0)

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str, alpha: float = 1.0) -> None:
        (a, b) = self._to([start, end])
        style = {
            "arrowstyle": "-|>",
            "color": colour,
            "lw": 1.2,
            "shrinkA": 0.0,
            "shrinkB": 0.0,
            "alpha": alpha,
        }
        self._axes.annotate("", b, a, arrowprops=style)

    def begin(self, point: tuple[float, float], heading: float | None) -> None:
        (x, y) = self._to(point)[0]
        self._axes.plot(x, y, "o", color=BLUE, markersize=7.0, markerfacecolor="white", markeredgewidth=1.6)
        if heading is not None:
            u, v = self._to((math.cos(heading), math.sin(heading)))[0]
            self._axes.quiver(x, y, u, v, color=BLUE, angles="xy", scale=18.0, width=0.007, zorder=3)

    def name(self, point: tuple[float, float], words: str) -> None:
        (x, y) = self._to(point)[0]
        self._axes.text(x, y, words, fontsize=self._names_size, ha="center", va="center", clip_on=True)

    def number(self, number: int, edge: Polygon, within: ArrayLike) -> None:
        points, (low, high) = self._to(edge), self._bounds(within)
        inside = np.all((points > low) & (points < high), axis=1)
        points = points[inside] if inside.any() else points
        x, y = points[np.argmax(points.sum(axis=1))]
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": PINK}
        self._axes.text(x, y, str(number), color=PINK, fontsize=7.5, ha="center", va="center", bbox=box)

    def _frame(self, least: NDArray[np.float64], greatest: NDArray[np.float64]) -> None:
        (left, low), (right, high) = least.tolist(), greatest.tolist()
        self._axes.set_xlim(left, right)
        self._axes.set_ylim(low, high)
        self._axes.set_aspect("equal")
        # Ticks would take longer than the rest of the map.
        self._axes.set_axis_off()
        length = 10.0 ** math.floor(math.log10((right - left) / 3.0))
        x, y = left + 0.02 * (right - left), low - 0.015 * (right - left)
        self._axes.plot([x, x + length], [y, y], color="black", linewidth=2.0, clip_on=False)
        self._axes.text(x + 1.15 * length, y, f"{length:g} m", fontsize=6.5, va="center")


def _placed(outline: Polygon, pose: Pose) -> NDArray[np.float64]:
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return np.asarray(outline) @ np.array([[c, s], [-s, c]]) + np.asarray(pose.xy)


def _pushed(start: Scene, final: Scene) -> list[ObjectState]:
    """Return the objects that moved by more than ``MOVED``, at their final places."""
    return [o for o in final if o.name in start and math.dist(o.pose.xy, start[o.name].pose.xy) > MOVED]


def _corners(content: TrialMap) -> NDArray[np.float64]:
    """Return corners of the map, with a margin around its content."""
    if content.backdrop:
        corners = np.vstack([content.backdrop.floor, *map(np.asarray, content.backdrop.walls)])
        corners = np.vstack([corners, content.path])
        rim = 0.02
    else:
        shapes = [_placed(content.outlines[o.model], o.pose) for o in content.start]
        corners = np.vstack([*shapes, content.path])
        rim = 0.1
    low, high = corners.min(axis=0), corners.max(axis=0)
    rim *= max(float((high - low).max()), 1e-3)
    return np.array([low - rim, high + rim])


def _extent(content: TrialMap) -> tuple[float, float]:
    """Return width and height of the map [m]."""
    low, high = _corners(content)
    x, y = high - low
    return (x, y) if content.backdrop is None or content.backdrop.up in ("y", "-y") else (y, x)
