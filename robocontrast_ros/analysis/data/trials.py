"""The trials of a run as one table: a row for each execution, void ones included."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import MappingProxyType

import numpy as np
import polars as pl

from robocontrast_ros.analysis.data.effort_model import Effort, EffortModel
from robocontrast_ros.analysis.data.pacing import pacing_of_trial
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.domain import Fault, Outcome, ScoreSpec, Trial, TrialResult, segments_digest
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.runs.events import SetUp, TrialFinished, TrialVoid
from robocontrast_ros.system.disk import write_file

ALL = "all"
"""Name of a row over base and perturbed trials together."""

Columns = Mapping[str, tuple[type[pl.DataType], str]]
"""Name of each column of a table -> its type and its meaning."""

_ENDING: Columns = {
    "outcome": (pl.String, "SUCCESS, FAILURE, POLICY_FAULT or VOID"),
    "fault": (pl.String, "NONE, or the name of the fault"),
    "detail": (pl.String, "the fault in words"),
}

_FACTS: Columns = {
    "subgoals": (pl.Int64, "subgoals of the trial; 1 where the goal has no stages"),
    "stopped": (pl.Boolean, "whether the policy itself ended the trial"),
    "optimal_path_length_m": (pl.Float64, "the planner's path [m]"),
    "steps": (pl.Int64, "control steps"),
    "duration_s": (pl.Float64, "of the trial, in the time of the sensors [s]"),
    "clamped_steps": (pl.Int64, "control steps whose action was clamped to a limit"),
    "interventions": (pl.String, "commands in which the safety filter intervened, by kind of limit; empty without any"),
}

_FACTS_AFTER = {"subgoals_reached": ("subgoals", "stopped")}
"""Score -> facts in the columns right after it; the others come after all scores."""


def result_columns(scores: Sequence[ScoreSpec] = STANDARD_SPECS) -> Columns:
    """Return the columns of a trial's result (``scores_of``)."""
    columns = dict(_ENDING)
    for spec in scores:
        columns[spec.column] = (pl.Int64 if spec.whole else pl.Float64, spec.meaning)
        columns |= {name: _FACTS[name] for name in _FACTS_AFTER.get(spec.name, ())}
    return columns | _FACTS


_CONDITIONS: Columns = {
    "index": (pl.Int64, "position of the trial in the session, from 0"),
    "attempt": (pl.Int64, "which execution of the trial, from 0; (index, attempt) is unique"),
    "counts": (pl.Boolean, "whether the row counts: false for void attempts, whose scores are null"),
    "base_id": (pl.String, "the test instance that this is, or is a perturbation of"),
    "instance_id": (pl.String, "the instance that was run"),
    "perturbation": (pl.String, "`base`, or the perturbation's name"),
    "repeat": (pl.Int64, "which repetition of the same starting conditions, from 0"),
    "problem": (pl.String, "the task's problem that the test instance was drawn from, its skill; empty without one"),
    "after": (pl.String, "the test instance whose skill comes before its own in a chain; empty without one"),
    "cluster": (
        pl.String,
        "what intervals take as independent: the first test instance of its chain, whose skills share a scene; without "
        "a chain the test instance",
    ),
    "family": (pl.String, "the task's family of instructions"),
    "level": (
        pl.String,
        "L1 to L4: how far the test instance is from what the policy was trained on; null where that is not known",
    ),
    "instruction": (pl.String, "the words of the instruction"),
    "note": (pl.String, "what was perturbed, or why the scene was reset"),
    "start": (
        pl.String,
        "the scene it starts in: FULL_RESET, LEFT or ROBOT_ALONE (by the trial before), GONE_BACK or UNKNOWN",
    ),
    "claim": (pl.String, "what the perturbation claims of the expected behaviour; empty when nothing"),
    "proof": (pl.String, "the planner's numbers that show the claim, as a JSON object; `_m` is metres"),
    "filters": (
        pl.String,
        "between the sensors and the policy: name, severity or `drawn`, camera; empty if there are none",
    ),
    "policy": (pl.String, "name of the policy that ran it; different policies have different names"),
    "seed": (pl.Int64, "seed of the policy's own randomness"),
}

_EXECUTION: Columns = {
    "setup_moves": (
        pl.Int64,
        "objects moved, brought in or taken out to set this attempt up, and the void attempts of its trial before it",
    ),
    "setup_metres": (pl.Float64, "how far they were carried, together [m]"),
    "setup_seconds": (pl.Float64, "how long that took a person, measured or by the model [s]"),
    "setup_measured": (pl.Boolean, "whether all of those seconds were measured; false in simulation"),
    "setup_error_m": (
        pl.Float64,
        "greatest distance, as it was seen, of an object that a person placed from where it should be [m]; null where "
        "nothing saw it, and in simulation",
    ),
    "setup_overruled": (pl.Boolean, "whether the person said of a doubted set-up that it stands right"),
    "setup_cost": (pl.Float64, "cost of that, in `cost_unit`"),
    "cumulative_cost": (pl.Float64, "cost of all set-ups up to and including this one, in `cost_unit`"),
    "cost_unit": (pl.String, "m or s"),
    "wall_time_s": (pl.Float64, "of the execution, on the wall clock [s]; null for void attempts"),
    "policy_answers": (pl.Int64, "answers of the policy in the trial"),
    "policy_latency_median_s": (
        pl.Float64,
        "median of the time that the policy itself took for an answer [s]",
    ),
    "policy_latency_p95_s": (pl.Float64, "95th percentile of it [s]"),
    "policy_latency_max_s": (pl.Float64, "longest [s]"),
    "late_answers": (pl.Int64, "answers that took longer than the control period in which they were asked for"),
    "late_steps": (pl.Int64, "control steps that passed while the robot waited for them"),
    "period_jitter_p99_s": (
        pl.Float64,
        "99th percentile of the difference between a control period and what it should be [s]; null where the world "
        "waits",
    ),
    "overruns": (pl.Int64, "control periods more than 10 ms too long; null where the world waits"),
    "pose_source": (pl.String, "where the driver has a base's pose from; null where the robot's file leaves no choice"),
    "speed_scaling": (
        pl.Float64,
        "lowest share of full speed that the robot's driver allowed in the trial, 0 to 1; null where it does not say "
        "it, and in simulation",
    ),
    "observed_instruction": (pl.String, "the words that the policy says it received; null where it does not say"),
    "segments_digest": (
        pl.String,
        "SHA-256 of the segments it received in place of the text, or of pictures sent if it does not say; else empty",
    ),
    "image_digest": (pl.String, "SHA-256 of the first images it received; empty when it received none"),
    "corrected_by": (pl.String, "who corrected how it was judged; null where nobody did"),
    "bag": (pl.String, "folder of the bag, relative to the run folder; empty when there is none"),
    "messages": (pl.Int64, "messages in the bag"),
    "messages_missing": (pl.Int64, "messages known to be missing from it"),
    "twin": (pl.Int64, "index of the base trial of the same repeat that it is compared with; null where there is none"),
    "block": (pl.Int64, "block of the trial, from 0: the successive trials of one test instance; null when unknown"),
    "delivered": (
        pl.String,
        "CONFIRMED where the policy received what was sent (instruction, first images), else UNKNOWN; null for void",
    ),
}


def trial_columns(scores: Sequence[ScoreSpec] = STANDARD_SPECS) -> Columns:
    """Return name of each column -> its type and its meaning. NaN never occurs: unknown values are null."""
    return {**_CONDITIONS, **result_columns(scores), **_EXECUTION}


COLUMNS = trial_columns()
"""The columns of a session with the standard scores."""


def trials_table(run: RunRecord, levels: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> pl.DataFrame:
    """Return the trials of a run, with ``trial_columns`` of its scores, in the order they were run.

    Args:
        run: the content of its journal.
        levels: policy -> test instance -> level, of those that are known.
    """
    started, model = run.started, EffortModel(run.started)
    unit, scores = (started.cost_unit, started.scores) if started else ("m", STANDARD_SPECS)
    rows = [
        {
            **conditions_of(each.trial),
            **_test_instance(run, each.trial.base_id),
            "attempt": each.ended.attempt,
            "counts": each.counts,
            "policy": each.policy,
            "level": levels.get(each.policy, {}).get(each.trial.base_id),
            **_set_up(each.set_ups, model),
            "cumulative_cost": each.spent,
            "cost_unit": unit,
            "corrected_by": each.corrected_by,
            **_results(each.ended, scores),
        }
        for each in run.trials
    ]
    return make_table(rows, trial_columns(scores))


def make_table(rows: Sequence[dict[str, object]], columns: Columns) -> pl.DataFrame:
    """Return rows as a table with these columns, in which unknown values are null."""
    schema = {name: kind for name, (kind, _) in columns.items()}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None))


def write_table(table: pl.DataFrame, columns: Columns, parquet: Path, csv: Path) -> None:
    """Write a table in both forms; the Parquet file's metadata explains each column.

    Raises:
        DiskError: a file cannot be written.
    """
    # The content goes through memory, because polars has its own error for a full disk.
    content = BytesIO()
    table.write_parquet(content, metadata={name: meaning for name, (_, meaning) in columns.items()})
    write_file(parquet, content.getvalue())
    write_file(csv, table.write_csv())


def write_trials(table: pl.DataFrame, parquet: Path, csv: Path, scores: Sequence[ScoreSpec] = STANDARD_SPECS) -> None:
    """Write the table of ``trials_table`` in both forms, with the session's scores explained."""
    write_table(table, trial_columns(scores), parquet, csv)


def conditions_of(trial: Trial) -> dict[str, object]:
    """Return the columns that describe a trial."""
    proof = trial.instance.proof
    return {
        "index": trial.index,
        "base_id": trial.base_id,
        "instance_id": trial.instance.instance_id,
        "perturbation": trial.perturbation,
        "repeat": trial.repeat,
        "family": trial.instance.instruction.family,
        "instruction": trial.instance.instruction.text,
        "note": trial.note,
        "start": trial.start.name,
        "claim": proof.claim if proof else "",
        "proof": json.dumps(dict(proof.measures)) if proof else "",
        "filters": ", ".join(
            f"{f.name} {f.severity or 'drawn'} {f.camera}".strip() for f in trial.instance.observation
        ),
        "seed": trial.seed,
        "twin": int(trial.twin) if trial.twin else None,
        "block": trial.block if trial.block >= 0 else None,
    }


def _test_instance(run: RunRecord, base_id: str) -> dict[str, object]:
    own = run.instances.get(base_id)
    return {
        "problem": own.problem if own else "",
        "after": own.after if own else "",
        "cluster": run.cluster_of(base_id),
    }


def _set_up(events: Sequence[SetUp], model: EffortModel) -> dict[str, object]:
    spent = sum((model.of(e.moves, e.measured) for e in events), Effort())
    return {
        "setup_moves": sum(len(e.moves) for e in events),
        "setup_metres": spent.metres,
        "setup_seconds": spent.seconds,
        "setup_measured": bool(events) and all(e.measured is not None for e in events),
        "setup_error_m": max((off for e in events[-1:] for off, _ in e.errors), default=None),
        "setup_overruled": any(e.overruled for e in events[-1:]),
        "setup_cost": sum(e.cost for e in events),
    }


def _results(event: TrialFinished | TrialVoid, scores: Sequence[ScoreSpec]) -> dict[str, object]:
    if isinstance(event, TrialVoid):
        return _ending(Outcome.VOID, event.fault, event.detail)
    result, recording = event.result, event.recording
    return {
        **scores_of(result, scores),
        "wall_time_s": event.wall_time,
        **_latency(event.policy_latency),
        **_pacing(event),
        "pose_source": event.pose_source or None,
        "speed_scaling": event.speed_scaling,
        "observed_instruction": event.observed.instruction if event.observed.known else None,
        "segments_digest": event.observed.segments_digest or _pictures(event),
        "image_digest": event.observed.image_digest,
        "bag": recording.bag,
        "messages": sum(count for _, count in recording.messages),
        "messages_missing": sum(count for _, count in recording.missing),
        "delivered": event.delivered.name,
    }


def _pictures(event: TrialFinished) -> str:
    told = event.trial.instance.instruction
    return segments_digest(told.segments) if told.pictured else ""


def scores_of(result: TrialResult, scores: Sequence[ScoreSpec]) -> dict[str, object]:
    """Return the ``result_columns`` of a trial's result."""
    found = {spec.column: _cell(result.scores.get(spec.name, math.nan), spec) for spec in scores}
    return (
        _ending(result.outcome, result.fault, result.detail)
        | found
        | {
            "subgoals": result.subgoals,
            "stopped": result.stopped,
            "optimal_path_length_m": result.optimal_path_length,
            "steps": result.steps,
            "duration_s": result.duration,
            "clamped_steps": result.clamped_steps,
            "interventions": ", ".join(f"{kind} {count}" for kind, count in result.interventions.items()),
        }
    )


def _cell(value: float, spec: ScoreSpec) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if spec.whole else value


def _latency(answers: Sequence[float]) -> dict[str, object]:
    if not answers:
        return {"policy_answers": 0}
    median, p95 = np.quantile(answers, (0.5, 0.95))
    return {
        "policy_answers": len(answers),
        "policy_latency_median_s": float(median),
        "policy_latency_p95_s": float(p95),
        "policy_latency_max_s": max(answers),
    }


def _pacing(event: TrialFinished) -> dict[str, object]:
    pacing = pacing_of_trial(event)
    late = {"late_answers": pacing.late_answers, "late_steps": pacing.waited}
    if not pacing.periods:
        return late
    return {**late, "period_jitter_p99_s": pacing.jitter, "overruns": pacing.overruns}


def _ending(outcome: Outcome, fault: Fault, detail: str) -> dict[str, object]:
    return {"outcome": outcome.name, "fault": fault.name, "detail": detail}
