"""Run the commands of results, and keep of their output what documents need."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from robocontrast_ros.analysis.estimates.observation_shift import shifts_of
from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.analysis.estimates.understanding import Understanding, understanding_of
from robocontrast_ros.analysis.figures.charts import draw_overview
from robocontrast_ros.analysis.figures.objects import LOOKS, draw_looks, draw_objects
from robocontrast_ros.analysis.tables.observation_shift import shift_tables
from robocontrast_ros.analysis.tables.understanding import understanding_tables
from robocontrast_ros.cli import fast
from robocontrast_ros.configuration.settings import parse_settings
from robocontrast_ros.domain import BASE
from robocontrast_ros.objects import load_library
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.studies.understanding import checked, load_check
from scripts.documents import console, pictures, tables
from scripts.documents.results import DECIMALS, ROOT

COLUMNS = (
    *(
        "index",
        "base_id",
        "perturbation",
        "repeat",
        "counts",
        "outcome",
        "success",
        "spl",
        "progress",
        "ndtw",
    ),
    *("collisions", "steps", "setup_metres", "setup_seconds", "setup_cost"),
)
"""Columns of the table of trials that are kept: what the summary of a run is computed from."""

OF_STUDY = (
    *("policy", "study_seed", "strategy", "counts", "base_id", "family", "perturbation"),
    *("optimal_path_length_m", "success", "cumulative_cost", "setup_metres", "setup_seconds"),
)
"""Columns of a study's trials that are kept, beside the task's metric."""

OF_SCENES = ("repeat", "instruction", "problem", "proof")
"""The same of a study that names further scores or has claims about measures of scenes: policies are compared by them,
trial by trial."""


class MakingError(Exception):
    """A command failed; the message names it."""


@dataclass(frozen=True)
class Made:
    """Outcome of a command.

    Attributes:
        values: what documents show.
        seed: that it was run with.
        files: file that was drawn or written, relative to the checkout -> its content.
        measured: what differs from run to run.
    """

    values: Mapping[str, Any]
    seed: int | tuple[int, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)


def _execute(words: Sequence[str]) -> str:
    """Run a command in the checkout, with its errors shown, and return what it printed.

    Raises:
        MakingError: it ended with another code than 0.
    """
    scripts = Path(sys.executable).parent
    programs = {"python": [sys.executable], "robocontrast": [str(scripts / "robocontrast")]}
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [*programs.get(words[0], [words[0]]), *words[1:]],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MakingError(f"'{shlex.join(words)}' ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def printed(command: str, work: Path) -> Made:
    """Run a command that prints one JSON object: ``seed`` and what was found."""
    values = json.loads(_execute(shlex.split(command)))
    seed = values.pop("seed")
    return Made(values, tuple(seed) if isinstance(seed, list) else seed)


def printed_with_picture(picture: str, width: int = 1600) -> Callable[[str, Path], Made]:
    """Return what runs a command that prints one JSON object, as for ``printed``, and draws a picture.

    A .jpg is a picture with noise, of a width [pixel]; a .png is a chart.
    """

    def make(command: str, work: Path) -> Made:
        drawn = work / "picture.png"
        made = printed(f"{command} --picture {shlex.quote(str(drawn))}", work)
        content = pictures.photograph(drawn, width) if picture.endswith(".jpg") else pictures.compact(drawn, 256)
        return replace(made, files={picture: content})

    return make


def printed_and_kept(command: str, work: Path) -> Made:
    """Run a command that prints one JSON object, as for ``printed``, and keeps its parts; or continue it."""
    return printed(f"{command} --keep {shlex.quote(str(work))}", work)


def measurement(command: str, work: Path) -> Made:
    """Run a measurement that keeps its parts, or continue it; what it prints differs from run to run."""
    found = json.loads(_execute([*shlex.split(command), "--keep", str(work)]).splitlines()[-1])
    seed = found.pop("seed")
    return Made({}, seed, measured=found)


def session(command: str, work: Path, columns: Sequence[str] = COLUMNS) -> Made:
    """Run a fast session, or continue the one that was interrupted in ``work``; keep these columns of its trials.

    Those of scores that its task does not have are left out.
    """
    began = time.monotonic()
    results, _ = _session(command, work)
    values, seconds = _values(results, columns), round(time.monotonic() - began)
    return Made(values, results.summary.seed, measured={"seconds": seconds})


def session_with_overview(picture: str, columns: Sequence[str] = COLUMNS) -> Callable[[str, Path], Made]:
    """Return what does the same as ``session`` and draws the run's overview."""

    def make(command: str, work: Path) -> Made:
        results, _ = _session(command, work)
        drawn = work / "overview.png"
        draw_overview(results.summary, results.trials, results.standard, drawn)
        return Made(_values(results, columns), results.summary.seed, {picture: pictures.compact(drawn)})

    return make


def understanding(command: str, work: Path) -> Made:
    """Run a fast session, or continue it, and keep what it tells of its policy's understanding."""
    began = time.monotonic()
    results, _ = _session(command, work)
    found = understanding_of([results])
    if found is None:
        raise MakingError(f"'{command}' has no perturbation of what is told or shown")
    seconds = round(time.monotonic() - began)
    return Made(understood(found), results.summary.seed, measured={"seconds": seconds})


def check(picture: str) -> Callable[[str, Path], Made]:
    """Return what runs a check of understanding, or continues it, and keeps its tables and its chart of levels."""

    def make(command: str, work: Path) -> Made:
        began = time.monotonic()
        words = shlex.split(command)
        _execute([*words, "--to", str(work)])
        parameters, _ = load_check(words[2])
        seed, found = next(iter(checked(parameters, work, no_mistakes="--no-mistakes" in words).items()))
        drawn = pictures.compact(work / f"seed{seed}" / "understanding_levels.png")
        return Made(understood(found), seed, {picture: drawn}, {"seconds": round(time.monotonic() - began)})

    return make


def shift(command: str, work: Path) -> Made:
    """Run a fast session of modifications or chains, or continue it; keep its numbers of observation-space shift."""
    began = time.monotonic()
    results, _ = _session(command, work)
    seconds = round(time.monotonic() - began)
    return Made(_shift_values(results, command), results.summary.seed, measured={"seconds": seconds})


def shift_with_sizes(picture: str) -> Callable[[str, Path], Made]:
    """Return what does the same as ``shift``, measures how large the changes look, and shows some (`shift RUN`)."""

    def make(command: str, work: Path) -> Made:
        results, run = _session(command, work)
        _execute(["robocontrast", "shift", str(run.path)])
        sizes = {name: pl.read_csv(run.shift / f"{name}.csv") for name in ("visual_change", "size_and_loss")}
        values = _shift_values(results, command) | _kept(sizes)
        files = {picture: pictures.photograph(run.shift / "changes.png", 1200)}
        return Made(values, results.summary.seed, files)

    return make


def _shift_values(results: Results, command: str) -> dict[str, Any]:
    found = shifts_of(results)
    if found is None:
        raise MakingError(f"'{command}' has neither modifications nor chains")
    return _kept(shift_tables(found))


def understood(found: Understanding) -> dict[str, Any]:
    """Return the tables of a check of understanding."""
    return _kept(understanding_tables(found))


def _kept(tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    return {
        name: {"columns": table.columns, "rows": [list(row) for row in table.iter_rows()]}
        for name, table in tables.items()
    }


def _session(command: str, work: Path) -> tuple[Results, RunFolder]:
    parser = argparse.ArgumentParser()
    parser.add_argument("session")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--robot")
    parser.add_argument("--policy")
    parser.add_argument("--strategy")
    parser.add_argument("--size", type=int)
    parser.add_argument("--max-trials", type=int)
    parser.add_argument("--set", action="append", default=[])
    asked = parser.parse_args(shlex.split(command)[2:])
    begun = sorted(work.glob("*/journal.jsonl"))
    if not asked.fast:
        words = ["--resume", str(begun[0].parent)] if begun else shlex.split(command)[2:]
        _execute(["robocontrast", "evaluate", *words, *([] if begun else ["--output", str(work)])])
        run = RunFolder.open(next(work.glob("*/journal.jsonl")).parent)
    else:
        if begun:
            run = RunFolder.open(begun[0].parent)
        else:
            overrides = Overrides(
                robot=asked.robot,
                policy=asked.policy,
                strategy=asked.strategy,
                size=asked.size,
                max_trials=asked.max_trials,
                # Bags change no number, and take longer than most trials.
                settings={"recording": "none", **parse_settings(asked.set, "test_set.size=20")},
                output=str(work),
                fast=True,
            )
            run = resolve(asked.session, overrides).new_run(time.time())
        # The process of `evaluate --fast`; what that does besides is drawing a map of each trial.
        _execute(["python", *fast.command(run, resume=bool(begun))[1:]])
    return compute_results(read_journal(run.journal), draw_test_set(run)), run


def _values(results: Results, columns: Sequence[str] = COLUMNS) -> dict[str, Any]:
    summary = results.summary
    kept = results.trials.select([column for column in columns if column in results.trials.columns])
    rows = [row for row in summary.rows if row.perturbation not in (BASE, "all")]
    return {
        "session": {
            "name": summary.session,
            "policy": summary.policy,
            "robot": summary.robot,
            "strategy": summary.strategy,
            "metric": summary.metric,
            "cost_unit": summary.cost_unit,
            "finished": summary.finished,
            "symbols": [[row.perturbation, row.symbol] for row in rows],
            "skipped": {row.perturbation: row.skipped for row in summary.rows if row.perturbation != "all"},
        },
        # Nobody is timed in a simulation.
        "effort": {name: value for name, value in asdict(summary.effort).items() if name != "handling"},
        "columns": kept.columns,
        "rows": [list(row) for row in kept.iter_rows()],
    }


def study_trials(study: str) -> str:
    """Return the name of the file, beside the result file, of a study's trials."""
    return f"study_{study}_trials.csv.gz"


def study(command: str, work: Path) -> Made:
    """Run a study, or continue it, and keep its trials beside the result file."""
    from robocontrast_ros.studies.job import JobFiles
    from robocontrast_ros.studies.parameters import load_study
    from robocontrast_ros.studies.run import jobs_of

    began = time.monotonic()
    _execute([*shlex.split(command), "--output", str(work)])
    seconds = time.monotonic() - began
    loaded = load_study(shlex.split(command)[2])
    read = {job: JobFiles(work / loaded.parameters.name / "jobs", job).read() for job in jobs_of(loaded)}
    some = loaded.session(next(iter(loaded.policies)), loaded.parameters.standard, 0, None)
    wanted = {*loaded.parameters.scores, *(claim.measure.score for claim in loaded.claims)} - {"success"}
    further = [spec.column for spec in (score.spec for score in some.scores) if spec.name in wanted]
    of_scenes = OF_SCENES if further or loaded.measures_of_scenes else ()
    kept = (*OF_STUDY, some.task.metric, *of_scenes, *further)
    trials = pl.concat([table for table, _ in read.values()]).select(*dict.fromkeys(kept))
    packed = gzip.compress(trials.with_columns(pl.col(pl.Float64).round(DECIMALS)).write_csv().encode(), mtime=0)
    sessions = [asdict(session) for _, ended in read.values() for session in ended]
    values = {
        "study": loaded.parameters.name,
        "columns": list(sessions[0]),
        "rows": [list(session.values()) for session in sessions],
    }
    drawn = pictures.of_study(values, packed, work)
    file = f"docs/results/{study_trials(loaded.parameters.name)}"
    return Made(values, loaded.parameters.seeds, {file: packed, **drawn}, {"seconds": round(seconds)})


def rooms(command: str, work: Path) -> Made:
    """Draw the arrangements of the studio apartment."""
    return Made({}, 0, {"docs/images/studio_apartment.png": pictures.rooms(work / "rooms.png")})


def console_picture(command: str, work: Path) -> Made:
    """Play at the console's page, and show its states."""
    console.draw(work).save(work / "console.png")
    return Made({}, 0, {"docs/images/console.png": pictures.compact(work / "console.png", 256)})


def objects_pictures(command: str, work: Path) -> Made:
    """Draw the objects of tables, and the looks of tables, backgrounds and lights."""
    library = load_library()
    movable = [model for model in library.values() if not model.fixed]
    draw_objects(movable, work / "objects.png")
    draw_looks(library, work / "looks.png")
    values = {
        "types": len({model.type for model in movable}),
        "categories": len({model.category for model in movable}),
        "models": len(movable),
        "grasps": sum(len(model.grasps) for model in {model.type: model for model in movable}.values()),
        **{kind: sum(model.category == kind for model in library.values() if model.fixed) for kind in LOOKS},
    }
    files = {f"docs/images/{name}.png": pictures.compact(work / f"{name}.png") for name in ("objects", "looks")}
    return Made(values, 0, files)


def shown_trial(values: Mapping[str, Any], perturbation: str) -> int:
    """Return the trial that a picture shows: the first of a perturbation that fails where its base trial is solved.

    The first of that perturbation where there is no such trial.

    Raises:
        MakingError: the perturbation has no trial.
    """
    rows = [dict(zip(values["columns"], row, strict=True)) for row in values["rows"]]
    solved = {row["base_id"] for row in rows if row["perturbation"] == BASE and row["success"] == 1.0}
    own = [row for row in rows if row["perturbation"] == perturbation and row["counts"]]
    if not own:
        raise MakingError(f"there is no trial under {perturbation} to draw")
    telling = [row for row in own if row["success"] == 0.0 and row["base_id"] in solved]
    return int((telling or own)[0]["index"])


def demo_pictures(command: str, work: Path) -> Made:
    """Record the demo in the graph, and draw one trial, its report, and that trial in the report."""
    index = shown_trial(tables.result("demo").values, "LB1")
    results, run = _session(command, work)
    trial = pictures.trial(run.bag(f"{index:04d}", 0), work / "trial.png")
    _execute(["robocontrast", "report", str(run.path)])
    report, opened = pictures.report(run.path / "report.html", index, work)
    files = {"trial": trial, "report": report, "report_trial": opened}
    return Made(
        {"trial": index},
        results.summary.seed,
        {f"docs/images/{name}.png": content for name, content in files.items()},
    )


def first_trial(picture: str) -> Callable[[str, Path], Made]:
    """Return what records the first trial of a session and draws it."""

    def make(command: str, work: Path) -> Made:
        results, run = _session(command, work)
        content = pictures.trial(run.bag("0000", 0), work / "trial.png")
        return Made({"trial": 0}, results.summary.seed, {picture: content})

    return make


def vln_picture(command: str, work: Path) -> Made:
    """Record the navigation session in the graph up to the trial that is shown, and draw that."""
    index = shown_trial(tables.result("vln").values, "SB")
    if "--max-trials" not in command:
        command += f" --max-trials {index + 1}"
    results, run = _session(command, work)
    content = pictures.trial(run.bag(f"{index:04d}", 0), work / "trial.png")
    return Made({"trial": index}, results.summary.seed, {"docs/images/vln_trial.png": content})
