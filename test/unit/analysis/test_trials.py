"""The table of trials has every execution of the journal, and nothing that is not a number."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from line_world import LineBench, line_evaluation
from told_runs import Told, told_run

from robocontrast_ros.analysis.data.pacing import pose_sources_of, speed_scaling_of
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.data.trials import COLUMNS, trials_table, write_trials
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.domain import Fault, ScoreSpec
from robocontrast_ros.domain.scores import TAKEN
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.runs.events import SetUp, SpeedScalingNoted, TrialFinished, TrialStarted, TrialVoid
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import NO_ESTIMATE
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.strategies.chain import CHAIN


@pytest.fixture
def events(tmp_path):
    bench = LineBench(faults={(1, 0): Fault.SENSOR_LOST})
    run_session(line_evaluation(test_set_size=5), bench, tmp_path / "journal.jsonl")
    return read_journal(tmp_path / "journal.jsonl").events


def table_of(events) -> pl.DataFrame:
    return trials_table(RunRecord.of(events))


def test_every_trial_that_counts_and_every_void_attempt_has_its_row_in_order(events):
    table = table_of(events)
    expected = [(e.trial.index, e.attempt) for e in events if isinstance(e, (TrialFinished, TrialVoid))]
    assert table.select("index", "attempt").rows() == expected
    assert table.filter(~pl.col("counts")).select("index", "attempt", "outcome", "fault").rows() == [
        (1, 0, "VOID", "SENSOR_LOST")
    ]


def test_the_numbers_are_those_of_the_journal_to_the_last_bit(events):
    table = table_of(events).filter("counts")
    finished = [e for e in events if isinstance(e, TrialFinished)]
    assert table["spl"].to_list() == [e.result.scores["spl"] for e in finished]
    assert table["path_length_m"].to_list() == [e.result.scores["path_length"] for e in finished]
    assert table["bag"].to_list() == [e.recording.bag for e in finished]
    assert table["instruction"].to_list() == table["observed_instruction"].to_list()


def test_perturbed_trials_name_the_row_of_their_base_trial_and_void_attempts_do_too(events):
    rows = table_of(events).to_dicts()
    for row in rows:
        if row["perturbation"] == "base":
            assert row["twin"] is None
        else:
            (twin,) = [r for r in rows if r["counts"] and r["index"] == row["twin"]]
            assert (twin["perturbation"], twin["base_id"], twin["block"]) == ("base", row["base_id"], row["block"])
    assert [row["twin"] for row in rows if not row["counts"]] == [0]


def test_the_policys_latency_is_in_every_row_that_counts(events):
    table = table_of(events)
    counting = table.filter("counts")
    assert counting["policy_answers"].unique().to_list() == [21]
    for column, seconds in (("median", 0.11), ("p95", 0.20), ("max", 0.21)):
        assert counting[f"policy_latency_{column}_s"].to_list() == pytest.approx([seconds] * len(counting))
    assert table.filter(~pl.col("counts"))["policy_latency_max_s"].null_count() == len(table) - len(counting)


def test_where_a_base_has_its_pose_from_is_in_every_row_and_in_one_sentence(events):
    assert table_of(events)["pose_source"].null_count() == len(table_of(events))
    assert pose_sources_of(RunRecord.of(events)) == ""
    finished = [e for e in events if isinstance(e, TrialFinished)]
    sources = ["odometry (odom)", *["map -> base by tf"] * (len(finished) - 1)]
    told = [replace(e, pose_source=source) for e, source in zip(finished, sources, strict=True)]
    assert table_of([events[0], *told])["pose_source"].to_list() == sources
    others = f"map -> base by tf in {len(finished) - 1} trials"
    assert pose_sources_of(RunRecord.of(told)) == f"Pose of the base: {others}; odometry (odom) in 1 trial."


def test_how_far_the_robot_was_slowed_is_in_every_row_and_in_one_sentence(events):
    assert table_of(events)["speed_scaling"].null_count() == len(table_of(events))
    assert speed_scaling_of(RunRecord.of(events)) == "", "in simulation nothing is said"
    finished = [e for e in events if isinstance(e, TrialFinished)]
    unknown = SpeedScalingNoted("speed scaling: not known: nobody publishes /slider", 0.0)
    assert speed_scaling_of(RunRecord.of([unknown, *finished])) == "Speed scaling: not known: nobody publishes /slider."
    shares = [0.2, 0.5, *[1.0] * (len(finished) - 2)]
    told = [replace(e, speed_scaling=share) for e, share in zip(finished, shares, strict=True)]
    assert table_of([events[0], *told])["speed_scaling"].to_list() == shares
    words = f"Something outside slowed the robot: 20 % to 50 % of its full speed in 2 of {len(finished)} trials."
    assert speed_scaling_of(RunRecord.of(told)) == words
    assert speed_scaling_of(RunRecord.of(told[2:])) == "", "at full speed nothing is said"


def test_the_costs_of_the_rows_add_up_to_what_was_spent(events):
    table = table_of(events)
    spent = math.fsum(e.cost for e in events if isinstance(e, SetUp))
    assert table["setup_cost"].sum() == pytest.approx(spent)
    assert table["cumulative_cost"][-1] == pytest.approx(spent)
    moves = sum(len(e.moves) for e in events if isinstance(e, SetUp))
    assert table["setup_moves"].sum() == moves


def test_a_session_that_was_resumed_has_the_set_up_costs_of_one_that_was_not_in_the_rows_that_count(tmp_path):
    evaluation = line_evaluation(test_set_size=3)
    run_session(evaluation, LineBench(), tmp_path / "whole.jsonl")
    whole = table_of(read_journal(tmp_path / "whole.jsonl").events)
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    columns = ["index", "setup_cost", "setup_metres", "setup_moves", "setup_seconds", "cumulative_cost"]
    cut = 0
    for number, event in enumerate(read_journal(tmp_path / "whole.jsonl").events, start=1):
        if not isinstance(event, (SetUp, TrialStarted)):
            continue
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"".join(lines[:number]))
        run_session(evaluation, LineBench(), path, resume=True)
        table = table_of(read_journal(path).events)
        assert table.filter("counts").select(columns).equals(whole.select(columns))
        assert table["setup_cost"].sum() == whole["setup_cost"].sum() > 0.0
        cut += len(table) - len(whole)
    assert cut > 0, "void attempts"


def test_a_void_attempt_has_no_score_and_no_column_holds_nan(events):
    table = table_of(events)
    assert table.filter(~pl.col("counts"))["spl"].to_list() == [None]
    for column in table.select(pl.col(pl.Float64)):
        assert not column.is_nan().any()


def test_both_files_read_back_as_the_table(events, tmp_path):
    table = table_of(events)
    write_trials(table, tmp_path / "trials.parquet", tmp_path / "trials.csv")
    assert pl.read_parquet(tmp_path / "trials.parquet").equals(table)
    read = pl.read_csv(tmp_path / "trials.csv", schema=table.schema)
    assert read["spl"].to_list() == table["spl"].to_list()
    assert read.columns == list(COLUMNS)
    assert pl.read_parquet_metadata(tmp_path / "trials.parquet")["spl"] == COLUMNS["spl"][1]


def test_a_journal_without_trials_gives_an_empty_table_of_the_same_columns(events):
    table = table_of(events[:1])
    assert (len(table), table.columns) == (0, list(COLUMNS))
    assert table.schema == table_of(events).schema


def test_a_score_cannot_have_the_name_of_another_column():
    assert set(COLUMNS) - {spec.column for spec in STANDARD_SPECS} == TAKEN
    for name, unit in (("steps", "count"), ("duration", "s")):
        with pytest.raises(ValueError, match=f"got '{name}', but the table of trials has a column"):
            ScoreSpec(name, name, unit, 0.0, 1.0, "lower", True, "scene", "taken")


def test_the_skills_of_a_chain_are_one_cluster_and_name_their_problem_and_what_they_follow(tmp_path):
    chain = [Told(0, problem="open"), Told(1, problem="put", after=0), Told(2, problem="close", after=1)]
    alone = Told(3, problem="open")
    perturbed = Told(3, "S_modify"), Told(2, CHAIN, problem="close", after=1)
    table = trials_table(
        RunRecord.of(read_journal(told_run(tmp_path, "p", [*chain, alone, *perturbed]).journal).events)
    )
    assert table.select("base_id", "perturbation", "problem", "after", "cluster").rows() == [
        ("x-0", "base", "open", "", "x-0"),
        ("x-1", "base", "put", "x-0", "x-0"),
        ("x-2", "base", "close", "x-1", "x-0"),
        ("x-3", "base", "open", "", "x-3"),
        # It does not name its own; they are those of its test instance.
        ("x-3", "S_modify", "open", "", "x-3"),
        ("x-2", "chain", "close", "x-1", "x-0"),
    ]


def test_no_interval_takes_the_skills_of_a_chain_as_independent(tmp_path):
    skills = [
        Told(3 * chain + k, solved=chain < 3, after=3 * chain + k - 1 if k else None)
        for chain in range(4)
        for k in range(3)
    ]
    chains = compute_results(read_journal(told_run(tmp_path, "p", skills).journal)).summary.row("base")
    assert (chains.trials, chains.instances) == (12, 12)
    successes, clusters = [float(told.solved) for told in skills], [told.base // 3 for told in skills]
    assert chains.success == cluster_mean(successes, clusters)
    assert chains.success.half_width > 1.4 * wilson(9, 12).half_width
    assert chains.success_exact == NO_ESTIMATE
