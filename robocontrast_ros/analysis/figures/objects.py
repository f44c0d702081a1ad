"""Contact sheets: the objects of a library, and the looks of tables, backgrounds and lights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.system.disk import new_file
from robocontrast_ros.worlds.mujoco.object_renderer import ObjectRenderer

CELL, COLUMNS = (280, 220), 7
"""Size of an object's picture [pixel], and the greatest number of pictures in a row."""

LOOK = (400, 300)
"""Size of the picture of a look [pixel]."""

LOOKS = ("table", "background", "light")
"""Categories of fixed models."""

STANDING = (
    ("red_mug", 0.42, -0.26),
    ("yellow_sugar_box", 0.34, -0.06),
    ("green_apple", 0.52, 0.02),
    ("blue_bowl", 0.40, 0.24),
    ("banana", 0.60, -0.22),
    ("yellow_duck", 0.58, 0.26),
)
"""Objects on the table in the pictures of looks: model, x and y [m]."""

DPI = 110


def draw_objects(models: Iterable[ObjectModel], path: Path) -> None:
    """Draw objects, the variants of a type as one picture of the first with the names of all colours.

    Raises:
        RenderingUnavailable: OpenGL does not work on this machine.
        DiskError: the file cannot be written.
    """
    types: dict[str, list[ObjectModel]] = {}
    for model in models:
        types.setdefault(model.uri.partition("#")[0], []).append(model)
    with ObjectRenderer(*CELL) as renderer:
        cells = [(renderer.portrait(variants[0]), *_caption(variants)) for variants in types.values()]
    _draw_sheet(cells, min(COLUMNS, len(cells)), path)


def draw_looks(library: Mapping[str, ObjectModel], path: Path) -> None:
    """Draw every table, background and light of a library, with the first of the other kinds, from the camera front.

    Raises:
        KeyError: the library lacks an object of ``STANDING``.
        RenderingUnavailable: OpenGL does not work on this machine.
        DiskError: the file cannot be written.
    """
    kinds = {kind: [model for model in library.values() if model.fixed and model.category == kind] for kind in LOOKS}
    usual = {kind: models[0] for kind, models in kinds.items()}
    things = [(library[name], Pose.planar(x, y, 2.5 * x)) for name, x, y in STANDING]
    cells = []
    with ObjectRenderer(*LOOK, camera="front") as renderer:
        for kind, models in kinds.items():
            for model in models:
                shown = usual | {kind: model}
                image = renderer.scenery([(fixed, Pose()) for fixed in shown.values()] + things)
                cells.append((image, model.model, kind))
    _draw_sheet(cells, max(map(len, kinds.values())), path, [len(models) for models in kinds.values()])


def _caption(variants: Sequence[ObjectModel]) -> tuple[str, str]:
    first = variants[0]
    return first.type.replace("_", " "), ", ".join(variant.colour for variant in variants if variant.colour)


def _draw_sheet(
    cells: Sequence[tuple[NDArray[np.uint8], str, str]], columns: int, path: Path, rows: Sequence[int] = ()
) -> None:
    """Draw pictures, each with a name and a line in small print, in rows of given lengths, or else in full rows."""
    lengths = list(rows) or [columns] * math.ceil(len(cells) / columns)
    height, width = cells[0][0].shape[:2]
    scale = 165 / width if columns > 6 else 200 / width
    below = 0.34
    high = height * scale / DPI
    figure = Figure(figsize=(columns * width * scale / DPI, len(lengths) * (high + below)), dpi=DPI)
    grid = figure.subplots(len(lengths), columns, squeeze=False)
    figure.subplots_adjust(0.0, below / figure.get_figheight(), 1.0, 1.0, wspace=0.02, hspace=below / high)
    left = iter(cells)
    for row, length in zip(grid, lengths, strict=True):
        for index, axes in enumerate(row):
            axes.set_axis_off()
            cell = next(left, None) if index < length else None
            if cell is not None:
                image, name, small = cell
                axes.imshow(image, interpolation="antialiased")
                text = {"transform": axes.transAxes, "ha": "center", "va": "top"}
                axes.text(0.5, -0.03, name, fontsize=8, **text)
                axes.text(0.5, -0.15, small, fontsize=6, color="#555555", **text)
    with new_file(path) as part:
        figure.savefig(part)
