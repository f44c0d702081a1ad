"""`robocontrast tasks check`: whether files of kitchen problems are right, and what is in them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
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
