"""The tasks of a suite as tables: one row a task, and how many there are of each kind (seed 002)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter

import yaml

from robocontrast_ros.analysis.tables.block import Column, TableBlock
from robocontrast_ros.analysis.tables.frames import frame
from robocontrast_ros.analysis.tables.latex import longtable
from robocontrast_ros.domain import whole_of
from robocontrast_ros.domain.words import counted
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.attributes import ATTRIBUTES, AXES, LABELS, axes
from robocontrast_ros.tasks.suite.files import tree_content
from robocontrast_ros.tasks.suite.skills import NAMES, skills


@dataclass(frozen=True)
class SuiteRow:
    """A task; COLUMNS say what its fields mean."""

    name: str
    scene: str
    label: str
    score: int
    subtasks: int
    attributes: tuple[str, ...]
    axes: tuple[str, ...]
    skills: tuple[str, ...]
    default: str
    vague: str
    specific: str
    goal: str
    things: tuple[str, ...]
    arms: tuple[str, ...]


def _several(name: str, meaning: str) -> Column:
    return Column(name, lambda row: ", ".join(getattr(row, name)), meaning=meaning)


COLUMNS = (
    Column("name", meaning="name of the task: that of its scene, and its own in it"),
    Column("scene", meaning="name of its scene"),
    Column("label", meaning="difficulty: simple up to a score of 2, complex from 5 on, moderate between"),
    Column("score", kind=int, meaning="subtasks and the largest weight of the attributes"),
    Column("subtasks", kind=int, meaning="subtasks that have to be done"),
    _several("attributes", "what the task asks of a policy"),
    _several("axes", "axes of the attributes"),
    _several("skills", "skills of the subtasks"),
    Column("default", meaning="its words as people say it"),
    Column("vague", meaning="its words with less"),
    Column("specific", meaning="its words with colours, parts and sides"),
    Column("goal", meaning="what shall hold at the end, as in the scene's file"),
    _several("things", "what stands in the scene"),
    _several("arms", "robots whose oracle solves it in nine of ten draws; empty if that was not tried"),
)

_LISTED = ("name", "score", "label", "subtasks", "attributes", "skills", "default")

_WIDTHS = (0.08, 0.045, 0.05, 0.03, 0.045, 0.06, 0.055, 0.055, 0.08, 0.07, 0.09, 0.09, 0.06, 0.04)
"""Widths of COLUMNS in LaTeX, as shares of a line; the rest is between them."""

_WIDE = r"Wide: put it on landscape pages, in \scriptsize and with a \tabcolsep of 2pt."


def rows_of(suite: Suite) -> tuple[SuiteRow, ...]:
    """Return the tasks of a suite, in its order."""
    found = []
    for task in suite.suite.values():
        things = [o.name for o in task.scene if suite.things.is_thing(o.model) and not whole_of(o.name)]
        found.append(
            SuiteRow(
                name=task.name,
                scene=task.file.stem,
                label=task.difficulty.label,
                score=task.difficulty.score,
                subtasks=task.difficulty.subtasks,
                attributes=task.attributes,
                axes=axes(task.attributes),
                skills=skills(task, suite.things),
                **task.texts,
                goal=yaml.safe_dump(tree_content(task.tree), default_flow_style=True, width=float("inf")).strip(),
                things=tuple(things),
                arms=task.arms,
            )
        )
    return tuple(found)


def listed(rows: Sequence[SuiteRow]) -> TableBlock:
    """Return the list of tasks for a reader."""
    columns = {column.name: column for column in COLUMNS}
    return TableBlock([columns[name] for name in _LISTED], rows)


def statistics(rows: Sequence[SuiteRow]) -> TableBlock:
    """Return how many tasks there are of each kind; a task may be of several attributes, axes and skills."""
    total = len(rows)
    counts = [(what, value, number, 100.0 * number / total) for what, value, number in _counts(rows)]
    columns = (
        Column("of the tasks", lambda row: str(row[1])),
        Column("number", itemgetter(2), kind=int),
        Column("share [%]", itemgetter(3), ".1f"),
    )
    scenes = {row.scene: len(row.things) for row in rows}
    note = (
        f"{counted(total, 'task')} in {counted(len(scenes), 'scene')}. Mean score {_mean(row.score for row in rows)}, "
        f"mean number of subtasks {_mean(row.subtasks for row in rows)}. {min(scenes.values())} to "
        f"{max(scenes.values())} things in a scene, {_mean(scenes.values())} on average."
    )
    return TableBlock(columns, counts, note=note, group=Column("kind", itemgetter(0)))


def _mean(numbers: Iterable[int]) -> str:
    every = list(numbers)
    return f"{sum(every) / len(every):.2f}"


def _counts(rows: Sequence[SuiteRow]) -> Iterator[tuple[str, object, int]]:
    """Yield what is counted, a value of it, and the number of tasks with this value."""
    for what, known, values in (
        ("difficulty", LABELS, [(row.label,) for row in rows]),
        ("score", (), [(row.score,) for row in rows]),
        ("number of subtasks", (), [(row.subtasks,) for row in rows]),
        ("axis: any of its attributes", AXES, [row.axes for row in rows]),
        ("attribute", ATTRIBUTES, [row.attributes for row in rows]),
        ("number of attributes", (), [(len(row.attributes),) for row in rows]),
        ("skill", NAMES, [row.skills for row in rows]),
        ("things in the scene", (), [(len(row.things),) for row in rows]),
    ):
        found = Counter(value for own in values for value in own)
        yield from ((what, value, found[value]) for value in known or sorted(found))


def as_json(rows: Sequence[SuiteRow]) -> str:
    """Return all about tasks as a JSON list of objects."""
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2) + "\n"


def as_csv(rows: Sequence[SuiteRow]) -> str:
    """Return all about tasks as CSV; several names are one text, joined by commas."""
    return frame(COLUMNS, rows).write_csv()


def as_latex(rows: Sequence[SuiteRow]) -> str:
    """Return all about tasks as a LaTeX table over several pages."""
    text = longtable(TableBlock(COLUMNS, rows), _WIDTHS, _WIDE)
    # Names are long, and have no other place for a break.
    return text.replace(r"\_", r"\_\allowbreak{}")


FORMATS = {"json": as_json, "csv": as_csv, "latex": as_latex}
"""Name of a format -> what writes tasks in it."""
