"""Jobs in several processes, whose rows are kept in a file: what it holds already is not run again."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

Row = TypeVar("Row")
Job = TypeVar("Job")


def run_jobs(
    work: Callable[[Job], Sequence[Any]], jobs: Sequence[Job], processes: int, output: Path, console: Console
) -> None:
    """Append the rows of each job to a file, one JSON object a line.

    Args:
        work: runs a job and returns its rows, which are dataclasses; a module's function or a class method.
        jobs: to be run, in any order.
        processes: how many of them at a time.
        output: the file; made where it is not there.
        console: shows how many are done.
    """
    if output.exists():
        # A process that was killed may have left half a line.
        text = output.read_text(encoding="utf-8")
        output.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool, output.open("a", encoding="utf-8") as stream:
        for rows in track(
            pool.imap_unordered(work, jobs), "jobs", len(jobs), console=console, transient=True
        ):
            stream.writelines(json.dumps(asdict(row)) + "\n" for row in rows)
            stream.flush()


def stored(path: Path, kind: Callable[..., Row]) -> list[Row]:
    """Return the rows of such a file as ``kind(**row)``; none when there is no file."""
    if not path.exists():
        return []
    whole = (
        line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")
    )
    return [kind(**json.loads(line)) for line in whole]


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table, its header first, as Markdown."""
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])
