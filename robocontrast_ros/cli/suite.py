"""`robocontrast tasks list`, `export` and `new`: the tasks of a suite, as a table, a picture and files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.configuration.files import SUFFIXES, find_file

if TYPE_CHECKING:
    from robocontrast_ros.analysis.tables.suite import SuiteRow
    from robocontrast_ros.tasks.suite import Suite

Place = Annotated[
    str,
    typer.Argument(
        help="Task file, by its name in config/tasks/ or its path; or a file or folder of scenes.",
        metavar="[TASK|FILE|FOLDER]",
    ),
]


def list_tasks(
    place: Place = "tabletop_suite",
    axis: Annotated[str, typer.Option(help="Only tasks with an attribute of it: visual, relational, procedural.")] = "",
    difficulty: Annotated[str, typer.Option(help="Only simple, moderate or complex tasks.")] = "",
    attribute: Annotated[str, typer.Option(help="Only tasks with this attribute, such as counting.")] = "",
    skill: Annotated[str, typer.Option(help="Only tasks with this skill, such as put_in.")] = "",
    scene: Annotated[str, typer.Option(help="Only tasks of the scene of this name.")] = "",
    picture: Annotated[Path | None, typer.Option(help="PNG file to draw the scenes into.")] = None,
) -> None:
    """List the tasks of a suite with their difficulty, attributes, skills and usual words, and count them.

    The picture shows each scene as it is stored, with the usual words and the difficulty of its tasks that are listed.
    """
    from robocontrast_ros.analysis.tables.suite import listed, rows_of, statistics
    from robocontrast_ros.analysis.tables.terminal import tables
    from robocontrast_ros.tasks.suite.attributes import ATTRIBUTES, AXES, LABELS
    from robocontrast_ros.tasks.suite.skills import NAMES

    suite, console = suite_at(place), Console()
    rows = rows_of(suite)
    filters: tuple[tuple[str, str, Iterable[str], Callable[[SuiteRow], Iterable[str]]], ...] = (
        ("axis", axis, AXES, lambda row: row.axes),
        ("difficulty", difficulty, LABELS, lambda row: (row.label,)),
        ("attribute", attribute, ATTRIBUTES, lambda row: row.attributes),
        ("skill", skill, NAMES, lambda row: row.skills),
        ("scene", scene, {row.scene for row in rows}, lambda row: (row.scene,)),
    )
    for kind, wanted, known, values in filters:
        if wanted and wanted not in known:
            raise ConfigurationError.unknown("command line", f"--{kind}", wanted, known, kind)
        rows = tuple(row for row in rows if not wanted or wanted in values(row))
    if not rows:
        console.print("No task is all of this.")
        return
    console.print(tables([listed(rows), statistics(rows)]))
    if picture is not None:
        # matplotlib takes a second to import.
        from robocontrast_ros.analysis.figures.suite import draw_scenes
        from robocontrast_ros.images.rendering import RenderingUnavailable

        try:
            draw_scenes(suite, [suite.suite[row.name] for row in rows], picture)
        except RenderingUnavailable as error:
            expected = f"a machine that can draw images ({error})"
            raise ConfigurationError("command line", "--picture", str(picture), expected) from None
        console.path("picture", picture)


def export(
    place: Place = "tabletop_suite",
    form: Annotated[str, typer.Option("--format", help="Format of the file: json, csv or latex.")] = "json",
    output: Annotated[Path | None, typer.Option(help="The file; the terminal if left out.")] = None,
) -> None:
    """Write all about the tasks of a suite: words in three variants, difficulty, attributes, goal, scene, skills."""
    from robocontrast_ros.analysis.tables.suite import FORMATS, rows_of
    from robocontrast_ros.system.disk import write_file

    if form not in FORMATS:
        raise ConfigurationError.unknown("command line", "--format", form, FORMATS, "format")
    text = FORMATS[form](rows_of(suite_at(place)))
    if output is None:
        sys.stdout.write(text)
        return
    write_file(output, text)
    Console().path("tasks", output)


def new(file: Annotated[Path, typer.Argument(help="The file to write; its name is that of the scene.")]) -> None:
    """Write a first scene of your own with one task, in which each key is explained."""
    from robocontrast_ros.system.disk import make_folder, write_file
    from robocontrast_ros.tasks.suite.first import FIRST_SCENE

    if file.suffix not in SUFFIXES:
        raise ConfigurationError("command line", "FILE", str(file), f"a name that ends in {SUFFIXES[0]}")
    if file.exists():
        raise ConfigurationError("command line", "FILE", str(file), "a file that does not exist", "Use another name.")
    make_folder(file.parent)
    write_file(file, FIRST_SCENE)
    console = Console()
    console.path("scene", file)
    console.say(f"Change it, then run `robocontrast tasks check {file}`.")


def suite_at(place: str) -> Suite:
    """Return the suite of a task file, of a scene file or of a folder of them.

    Raises:
        ConfigurationError: there is none, or it is wrong.
    """
    from robocontrast_ros.tasks.suite import Suite
    from robocontrast_ros.tasks.suite.files import is_scene, scene_files

    path = Path(place)
    if path.is_dir() or (path.suffix in SUFFIXES and path.is_file() and is_scene(path)):
        return Suite.of_scenes(scene_files([path]))
    file = find_file("tasks", place, "command line", "TASK", Path.cwd())
    task = load_configured("tasks", file)
    if not isinstance(task, Suite):
        raise ConfigurationError(str(file), "task", task.name, "a suite of tasks, such as tabletop_suite")
    return task
