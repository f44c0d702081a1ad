"""`robocontrast tasks`: whether files of kitchen problems are right, what is in them, and what may be modified."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError

if TYPE_CHECKING:
    from robocontrast_ros.tasks.bddl import Kitchen, Problem


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Problems in BDDL or YAML, and folders of them.", metavar="FILE|FOLDER…")
    ],
    text_alone: Annotated[
        bool, typer.Option("--text-alone", help="Do not ask whether the kitchen can build what a problem names.")
    ] = False,
) -> None:
    """Check problems of the kitchen, in LIBERO's BDDL or in YAML: one line for each that is wrong, and a summary.

    Exit code 2 if one is wrong, holds at the start already, or names what the kitchen cannot build.
    """
    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.tasks.bddl import done_at_start, problem_files, read_problem, remarks

    checks = [done_at_start]
    if not text_alone:
        checks.append(_kitchen().first_unbuildable)
    console, right, wrong = Console(), [], 0
    for file in problem_files(files):
        try:
            problem = read_problem(file, checks)
        except ConfigurationError as error:
            print(f"error: {error}", file=sys.stderr)
            wrong += 1
        else:
            right.append(problem)
            for remark in remarks(problem):
                console.say(f"{file}: {remark}.", "note:", "yellow")
    console.table(("what", "number", "which"), _summary(right))
    console.print(f"{counted(len(right) + wrong, 'file')}, {wrong} wrong. The table is of those that are right.")
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
    return [
        (what, found.total(), ", ".join(f"{name} {number}" for name, number in found.most_common()))
        for what, found in counts.items()
    ]
