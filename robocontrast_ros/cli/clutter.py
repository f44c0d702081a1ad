"""`robocontrast clutter` and `clutter-bins`: the visual clutter of pictures, and of scenes with distractors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.options import SessionArgument
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, parse_record


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


def clutter_bins(
    session: SessionArgument,
    draws: Annotated[int, typer.Option(help="Scenes to draw, of the session's test instances in turn.", min=10)] = 400,
    bins: Annotated[int, typer.Option(help="Number of bins.", min=2, max=50)] = 8,
    quantiles: Annotated[
        bool, typer.Option("--quantiles", help="As many draws in each bin, in place of bins of equal width.")
    ] = False,
    count: Annotated[int, typer.Option(help="Greatest number of distractors; each from 1 to it is as likely.")] = 12,
    similar: Annotated[str, typer.Option(help="any, alike or unlike, as for `distractors`.")] = "any",
    occluder: Annotated[bool, typer.Option("--occluder", help="One of them hides a part of the target.")] = False,
    looks: Annotated[bool, typer.Option("--looks", help="Table, background and light are drawn anew.")] = False,
) -> None:
    """Divide the DvFC of drawn scenes into bins, and print the perturbations that draw from them.

    The scenes are those of `clutter_bin`: 1 to 12 distractors, each number as likely.
    """
    from robocontrast_ros.domain import Perturbed
    from robocontrast_ros.perturbations.clutter_bin import ClutterBin, ClutterBinParameters, bin_of, edges_of
    from robocontrast_ros.sessions.resolving import resolve
    from robocontrast_ros.sessions.seeding import generator

    asked = {"count": count, "similar": similar, "occluder": occluder, "looks": looks}
    reference = ClutterBin(parse_record(ClutterBinParameters, asked, "command line"))
    console, resolved = Console(), resolve(session)
    task, seed = resolved.task, resolved.parameters.seed
    try:
        supported = reference.supports(task)
    except ValueError as error:
        raise ConfigurationError("command line", "--count", count, str(error)) from None
    if not supported:
        expected = "a session of a task with distractors, such as tabletop_clutter"
        raise ConfigurationError("command line", "SESSION", f"a session of '{task.name}'", expected)
    instances, found = resolved.evaluation().test_set(), []
    for number in console.track(range(draws), "scenes"):
        base = instances[number % len(instances)]
        answer = reference.apply(task, base, base.scene, generator(seed, "clutter_bins", number))
        if isinstance(answer, Perturbed):
            found.append((base.instance_id, dict(answer.instance.proof.measures)))
    dvfc = [measures["dvfc"] for _, measures in found]
    try:
        edges = edges_of(dvfc, bins, quantiles)
    except ValueError as error:
        cure = "Ask for fewer bins, or for more draws."
        raise ConfigurationError("command line", "--bins", bins, str(error), cure) from None
    rows = []
    for number, low, high in zip(range(1, bins + 1), (min(dvfc), *edges), (*edges, max(dvfc)), strict=True):
        own = [(name, measures["distractors"]) for name, measures in found if bin_of(measures["dvfc"], edges) == number]
        size = sum(size for _, size in own) / len(own) if own else None
        rows.append((str(number), low, high, len(own), size, len({name for name, _ in own})))
    note = (
        "draws: scenes in the bin; distractors: their mean number in it; instances: those with a scene in it, of "
        f"{len(instances)}. {len(found)} scenes of {draws} draws; `clutter_bin` draws until a scene is in its bin."
    )
    console.table(("bin", "DvFC from", "to", "draws", "distractors", "instances"), rows, note=note)
    usual = ClutterBinParameters()
    words = "".join(f", {key}: {json.dumps(value)}" for key, value in asked.items() if value != getattr(usual, key))
    console.say(f"- &bins {{name: clutter_bin, bin: 1, edges: {list(edges)}{words}}}")
    for number in range(2, bins + 1):
        console.say(f"- {{<<: *bins, bin: {number}}}")
