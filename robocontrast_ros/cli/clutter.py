"""`robocontrast clutter`: the visual clutter of pictures, and its places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError


def clutter(
    image: Annotated[Path, typer.Argument(help="A picture of any size: the robot's view.")],
    top_image: Annotated[Path | None, typer.Argument(help="The same scene from above.")] = None,
    to: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("clutter.png"),
) -> None:
    """Measure the visual clutter of a scene by feature congestion, and draw a map of it."""
    if to.suffix.lower() != ".png":
        raise ConfigurationError("command line", "--to", str(to), "the name of a .png file")
    from robocontrast_ros.images.congestion import SCALES, SMALLEST, feature_congestion
    from robocontrast_ros.images.files import AREA, read_picture, resized

    console, views = Console(), []
    table: list[tuple[str, ...]] = []
    for file in filter(None, (image, top_image)):
        pixels = resized(read_picture(file))
        rows, columns = pixels.shape[:2]
        if min(rows, columns) < SMALLEST:
            expected = f"at least {SMALLEST} rows and columns, once it is brought to the area of 320x240"
            raise ConfigurationError(str(file), "", f"{columns}x{rows} pixels", expected)
        found = feature_congestion(pixels)
        views.append((file.name, pixels, found))
        small = " (less than 320x240: not comparable)" if rows * columns < 0.99 * AREA else ""
        parts = (f"{part.mean():.3f}" for part in found.parts.values())
        table.append((str(file), f"{columns}x{rows}{small}", f"{found.total:.3f}", *parts))
    console.table(("picture", "pixels", "feature congestion", *SCALES), table)
    totals = [found.total for _, _, found in views]
    title = f"DvFC {sum(totals) / len(totals):.3f}, the mean of both views" if len(totals) > 1 else ""
    if title:
        console.print(title)
    # matplotlib takes a second to import.
    from robocontrast_ros.analysis.figures.congestion import draw_congestion

    draw_congestion(views, to, title)
    console.print(to)
