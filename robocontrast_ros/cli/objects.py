"""`robocontrast objects`: the objects of tables, as a list and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError

if TYPE_CHECKING:
    from robocontrast_ros.objects import ObjectModel


def objects(
    places: Annotated[
        list[str] | None,
        typer.Argument(help="Files and folders of objects; by default config/objects/.", metavar="FILE|FOLDER…"),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG file to draw them into.")] = None,
) -> None:
    """List the objects of tables: names, colours, sizes, masses, what can be done with them; and draw them.

    An object of your own is checked: its size and mass, its surface, whether it stands and a grasp holds.
    """
    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.images.rendering import RenderingUnavailable
    from robocontrast_ros.objects import SHIPPED, load_library

    console, library = Console(), load_library(places or (SHIPPED,))
    types: dict[str, list[ObjectModel]] = {}
    for model in library.values():
        types.setdefault(model.uri.partition("#")[0], []).append(model)
    headings = ("object", "category", "also called", "variants", "size [cm]", "mass [g]", "what can be done")
    console.table(headings, map(_row, types.values()))
    movable = [model for model in library.values() if not model.fixed]
    fixed = len(types) - len({model.uri.partition("#")[0] for model in movable})
    kinds = counted(len({model.category for model in movable}), "category", "categories")
    console.print(
        f"{counted(len(types) - fixed, 'type')} of objects in {kinds}, {len(movable)} with their variants; "
        f"{counted(fixed, 'type')} of what is fixed.",
    )
    if picture is not None:
        # matplotlib takes a second to import.
        from robocontrast_ros.analysis.figures.objects import draw_objects

        if not movable:
            raise ConfigurationError("command line", "--picture", str(picture), "an object that is not fixed to draw")
        try:
            draw_objects(movable, picture)
        except RenderingUnavailable as error:
            expected = f"a machine that can draw images ({error})"
            raise ConfigurationError("command line", "--picture", str(picture), expected) from None
        console.print(picture)


def _row(variants: list[ObjectModel]) -> tuple[str, ...]:
    first = variants[0]
    others = dict.fromkeys(noun for variant in variants for noun in variant.nouns)
    others.pop(first.type.replace("_", " "), None)
    return (
        first.type,
        first.category,
        ", ".join(others),
        ", ".join(variant.colour or variant.uri.partition("#")[2] for variant in variants),
        " x ".join(f"{100 * side:.1f}" for side in first.size),
        "" if first.fixed else f"{1000 * first.mass:.0f}",
        ", ".join(_uses(first)),
    )


def _uses(model: ObjectModel) -> list[str]:
    """Return the skills that an object can be used with; a fixed object has none."""
    if model.fixed:
        return []
    can = {
        "pick": bool(model.grasps),
        "stack": model.stackable,
        "put on it": model.top is not None,
        "put into it": model.cavity is not None,
    }
    return [use for use, possible in can.items() if possible]
