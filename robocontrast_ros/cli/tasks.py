"""`robocontrast tasks check` and `modifications`: whether files of tasks are right, and what may be modified."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import SUFFIXES

if TYPE_CHECKING:
    from robocontrast_ros.tasks.bddl import Kitchen, Problem
    from robocontrast_ros.tasks.suite import Suite
    from robocontrast_ros.tasks.suite.files import SuiteTask


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Problems in BDDL or YAML, scenes of a suite, and folders of them.", metavar="FILE|FOLDER…"
        ),
    ],
    text_alone: Annotated[
        bool,
        typer.Option(
            "--text-alone",
            help="Do not ask whether the kitchen can build what a problem names, whether a scene is at rest, and "
            "whether its tasks have plans.",
        ),
    ] = False,
) -> None:
    """Check kitchen problems, in LIBERO's BDDL or in YAML, and scenes of a suite: one line for each that is wrong.

    Exit code 2 if one is wrong: if it holds at the start already, or names what the kitchen cannot build; of a scene,
    also if its things overlap or move, or if a task has no plan, or words that do not mean what they should.
    """
    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.tasks.bddl import problem_files, remarks
    from robocontrast_ros.tasks.suite.files import is_scene

    console, problems, scenes, wrong = Console(), [], [], 0
    for file in console.track(list(problem_files(files)), "checking"):
        try:
            if file.suffix in SUFFIXES and is_scene(file):
                scenes.append(_sound(file, text_alone))
            else:
                problems.append(_problem(file, text_alone))
        except ConfigurationError as error:
            print(f"error: {error}", file=sys.stderr)
            wrong += 1
    for file, problem in problems:
        for remark in remarks(problem):
            console.say(f"{file}: {remark}.", "note:", "yellow")
    if problems or not scenes:
        console.table(("what", "number", "which"), _summary(problem for _, problem in problems))
    if scenes:
        console.table(("what", "number", "which"), _summary_of_scenes(scenes))
    number = len(problems) + len(scenes) + wrong
    console.print(f"{counted(number, 'file')}, {wrong} wrong. The table is of those that are right.")
    if wrong:
        raise typer.Exit(2)


def modifications(
    files: Annotated[
        list[Path], typer.Argument(help="Problems in BDDL or YAML, and folders of them.", metavar="FILE|FOLDER…")
    ],
    free: Annotated[
        int, typer.Option(min=0, help="Free rectangles on the table, to which things may be added; BOSS has 1 to 3.")
    ] = 1,
    to: Annotated[Path | None, typer.Option(help="CSV file for the list of all modifications.")] = None,
) -> None:
    """List the single modifications of kitchen problems that do not concern the skill, by their text alone.

    They are the candidates of seed 003's generator (RAMG, section IV-A), each once. Those that change what the skill
    needs or brings about are counted as refused, and have the reason in the list. Whether there is room shows only
    in a scene.
    """
    import polars as pl

    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.system.disk import write_file
    from robocontrast_ros.tasks.bddl import Region, problem_files, read_problem
    from robocontrast_ros.tasks.bddl import modifications as ramg
    from robocontrast_ros.tasks.bddl.problem import SIDES

    console, kitchen, vocabulary, rows = Console(), _kitchen(), ramg.read_vocabulary(), []
    for file in problem_files(files):
        problem = read_problem(file, [kitchen.first_unbuildable])
        known = kitchen.types.fixtures
        tables = [name for name, kind in problem.fixtures.items() if not known[kind].is_part_of_skills]
        if not tables:
            kinds = ", ".join(kind for kind, fixture in known.items() if not fixture.is_part_of_skills)
            raise ConfigurationError(str(file), "fixtures", ", ".join(problem.fixtures.values()), f"a table: {kinds}")
        table = tables[0]
        places = [Region(f"{ramg.FREE_PLACE}_{k + 1}", table, ((0.0, 0.0, 0.0, 0.0),)) for k in range(free)]
        problem = replace(problem, regions=(*problem.regions, *places))
        if problem.goal[0].predicate in SIDES:
            problem = ramg.put_beside(problem, problem.goal[0], table)
        try:
            for each in ramg.modifications(problem, vocabulary, kitchen):
                rows.append((str(file), each.kind, str(each.atom), ramg.refusal(problem, each, kitchen)))
        except ValueError as error:
            expected = "a goal that one skill brings about, or several"
            raise ConfigurationError(str(file), "goal", str(error), expected) from None
    names = ("file", "modification", "holds_then", "refused")
    found = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
    kinds = [(kind, found.filter(pl.col("modification") == kind)) for kind in ramg.KINDS]
    shown = [(kind, len(own), own["refused"].ne("").sum()) for kind, own in [*kinds, ("all", found)]]
    console.table(("modification", "number", "refused"), shown)
    console.print(f"{counted(found['file'].n_unique(), 'file')}, {counted(free, 'free rectangle')} on each table.")
    if to is not None:
        write_file(to, found.write_csv())
        console.path("list", to)


def _problem(file: Path, text_alone: bool) -> tuple[Path, Problem]:
    """Return a file and its problem.

    Raises:
        ConfigurationError: the problem is wrong.
    """
    from robocontrast_ros.tasks.bddl import done_at_start, read_problem

    checks = [done_at_start] if text_alone else [done_at_start, _kitchen().first_unbuildable]
    return file, read_problem(file, checks)


def _sound(file: Path, text_alone: bool) -> tuple[SuiteTask, ...]:
    """Return the tasks of a scene file.

    Raises:
        ConfigurationError: one is wrong, or the scene is.
    """
    from robocontrast_ros.tasks.suite.files import read_scene

    tasks = read_scene(file)
    if (error := _empty_suite().first_error(tasks, text_alone)) is not None:
        raise error
    return tasks


@cache
def _empty_suite() -> Suite:
    from robocontrast_ros.tasks.suite import Suite

    return Suite.of_scenes(())


@cache
def _kitchen() -> Kitchen:
    """Return what the kitchen can build with the objects that are there."""
    from robocontrast_ros.objects import SHIPPED, load_library
    from robocontrast_ros.tasks.bddl import Kitchen, read_domain, read_types

    return Kitchen(read_types(), read_domain(), frozenset(load_library((SHIPPED, f"{SHIPPED}/kitchen"))))


def _summary(problems: Iterable[Problem]) -> list[tuple[str, int, str]]:
    counts: dict[str, Counter[str]] = {
        what: Counter() for what in ("files", "fixtures", "objects", "predicates in init", "predicates in goal")
    }
    for problem in problems:
        counts["files"][problem.name] += 1
        counts["fixtures"].update(problem.fixtures.values())
        counts["objects"].update(problem.objects.values())
        counts["predicates in init"].update(atom.predicate for atom in problem.init)
        counts["predicates in goal"].update(atom.predicate for atom in problem.goal)
    return _rows(counts)


def _summary_of_scenes(scenes: Iterable[tuple[SuiteTask, ...]]) -> list[tuple[str, int, str]]:
    from robocontrast_ros.tasks.composed import leaves

    counts: dict[str, Counter[str]] = {
        what: Counter() for what in ("things in scenes", "tasks", "attributes", "predicates in goals")
    }
    for tasks in scenes:
        counts["things in scenes"].update(state.model for state in tasks[0].scene)
        for task in tasks:
            counts["tasks"][task.difficulty.label] += 1
            counts["attributes"].update(task.attributes)
            counts["predicates in goals"].update(atom.predicate for atom in leaves(task.tree))
    return _rows(counts)


def _rows(counts: dict[str, Counter[str]]) -> list[tuple[str, int, str]]:
    return [
        (what, found.total(), ", ".join(f"{name} {number}" for name, number in found.most_common()))
        for what, found in counts.items()
    ]
