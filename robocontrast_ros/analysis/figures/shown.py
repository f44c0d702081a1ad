"""The camera images of a test instance and of its perturbed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.system.disk import new_file

DPI = 100
ACROSS = 4
"""Greatest number of images in a row."""


def draw_shown(shown: Sequence[tuple[str, str, Mapping[str, NDArray[np.uint8]]]], path: Path) -> None:
    """Draw images, each with its name, its camera and its instruction.

    Args:
        shown: name, instruction, and camera's name -> image of shape (rows, columns, 3), RGB.
        path: the file to write.

    Raises:
        DiskError: the file cannot be written.
    """
    images = [(name, text, camera, image) for name, text, seen in shown for camera, image in seen.items()]
    columns = min(ACROSS, len(images))
    rows = -(-len(images) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.9 * rows), dpi=DPI, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for axes in panels:
        axes.axis("off")
    for axes, (name, text, camera, image) in zip(figure.axes, images, strict=False):
        axes.imshow(image)
        axes.set_title(f"{name} ({camera})\n{shorten(text, 46, placeholder=' …')}", fontsize=8)
    with new_file(path) as file:
        figure.savefig(file)
