"""`robocontrast clutter`: how cluttered pictures look, and where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.images.congestion import SCALES, SMALLEST, feature_congestion
from robocontrast_ros.images.files import AREA, read_picture, resized


def show_clutter(files: list[Path], to: Path, console: Console) -> None:
    """Print the feature congestion of pictures, with two their mean, and draw where it is.

    Args:
        files: the robot's view, and the view from above if there is one.
        to: the PNG file to draw.
        console: where the table goes.

    Raises:
        ConfigurationError: a file is no picture, or too small a one.
        DiskError: the picture cannot be written.
    """
    if to.suffix.lower() != ".png":
        raise ConfigurationError("command line", "--to", str(to), "the name of a .png file")
    views = []
    table = Table("picture", "pixels", "feature congestion", *SCALES)
    for file in files:
        image = resized(read_picture(file))
        rows, columns = image.shape[:2]
        if min(rows, columns) < SMALLEST:
            expected = f"at least {SMALLEST} rows and columns, once it is brought to the area of 320x240"
            raise ConfigurationError(str(file), "", f"{columns}x{rows} pixels", expected)
        found = feature_congestion(image)
        views.append((file.name, image, found))
        small = " (less than 320x240: not comparable)" if rows * columns < 0.99 * AREA else ""
        parts = (f"{part.mean():.3f}" for part in found.parts.values())
        table.add_row(Text(str(file)), f"{columns}x{rows}{small}", f"{found.total:.3f}", *parts)
    console.print(table)
    totals = [found.total for _, _, found in views]
    title = f"DvFC {np.mean(totals):.3f}, the mean of both views" if len(totals) > 1 else ""
    if title:
        console.print(title, highlight=False)
    # matplotlib takes a second to import.
    from robocontrast_ros.analysis.figures.congestion import draw_congestion

    draw_congestion(views, to, title)
    console.print(to, highlight=False)
