"""Contact sheet of the scenes of a suite: each as it is stored, with what is asked for in it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure

from robocontrast_ros.system.disk import new_file
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.files import SuiteTask
from robocontrast_ros.worlds.mujoco.object_renderer import ObjectRenderer

SIZE, COLUMNS, CAMERA = (480, 360), 4, "agent"
"""Width and height of a scene's picture [pixel]; pictures in a row; the camera."""

DPI, LINE, LETTERS = 100, 0.17, 62
"""Resolution [pixel/inch], height of a line of words [inch], and letters that have room in one."""


def draw_scenes(suite: Suite, tasks: Iterable[SuiteTask], path: Path) -> None:
    """Draw the scenes of some tasks of a suite, each with its name and the usual words and difficulty of its tasks.

    Raises:
        RenderingUnavailable: OpenGL does not work on this machine.
        DiskError: the file cannot be written.
    """
    models, scenes = suite.things.still, {}
    for task in tasks:
        scenes.setdefault(task.file, []).append(task)
    with ObjectRenderer(*SIZE, camera=CAMERA, world=suite.parameters.world) as renderer:
        cells = [
            (file.stem, renderer.scenery((models[o.model], o.pose) for o in own[0].scene), _said(own))
            for file, own in scenes.items()
        ]
    columns = min(COLUMNS, len(cells))
    rows = [cells[k : k + columns] for k in range(0, len(cells), columns)]
    width, high = (side / DPI for side in SIZE)
    heights = [high + LINE * (2 + max(len(said) for *_, said in row)) for row in rows]
    figure = Figure(figsize=(columns * width, sum(heights)), dpi=DPI)
    top = figure.get_figheight()
    for row, height in zip(rows, heights, strict=True):
        for k, (name, image, said) in enumerate(row):
            place = (k / columns, (top - high) / figure.get_figheight(), 1 / columns, high / figure.get_figheight())
            axes = figure.add_axes(place)
            axes.set_axis_off()
            axes.imshow(image)
            below = {"transform": figure.transFigure, "va": "top"}
            x = (k + 0.02) / columns
            for number, (words, weight) in enumerate([(name.replace("_", " "), "bold"), *said]):
                y = (top - high - LINE * (number + 0.3)) / figure.get_figheight()
                axes.text(x, y, words, fontsize=9, weight=weight, **below)
        top -= height
    with new_file(path) as part:
        figure.savefig(part)


def _said(tasks: Iterable[SuiteTask]) -> list[tuple[str, str]]:
    """Return the lines of the words of tasks, with their weight."""
    return [
        (line, "normal")
        for task in tasks
        for line in textwrap.wrap(
            f"{task.texts['default']} ({task.difficulty.label})", LETTERS, initial_indent="• ", subsequent_indent="   "
        )
    ]
