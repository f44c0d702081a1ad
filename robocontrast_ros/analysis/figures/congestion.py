"""Pictures of the congestion of images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.images.congestion import Congestion
from robocontrast_ros.system.disk import new_file

DPI = 110


def draw_congestion(views: Sequence[tuple[str, NDArray[np.uint8], Congestion]], path: Path, title: str = "") -> None:
    """Draw images, and beside each a map of its congestion; one scale of colours for all.

    Args:
        views: name, image of shape (rows, columns, 3) and congestion of each.
        path: the file to write.
        title: title above all images.

    Raises:
        DiskError: the file cannot be written.
    """
    figure = Figure(figsize=(9.6, 3.7 * len(views)), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10)
    top = max(float(congestion.map.max()) for _, _, congestion in views)
    for row, (name, image, congestion) in zip(figure.subplots(len(views), 2, squeeze=False), views, strict=True):
        seen, overlaid = row
        seen.imshow(image)
        seen.set_title(name, fontsize=9)
        overlaid.imshow(image.mean(axis=2), cmap="gray", vmin=0, vmax=255)
        drawn = overlaid.imshow(congestion.map, cmap="inferno", vmin=0, vmax=top, alpha=0.75)
        parts = " + ".join(f"{values.mean():.2f} {part}" for part, values in congestion.parts.items())
        overlaid.set_title(f"{congestion.total:.2f} = {parts}", fontsize=9)
        figure.colorbar(drawn, ax=overlaid, shrink=0.85)
        for axes in row:
            axes.axis("off")
    with new_file(path) as file:
        figure.savefig(file)
