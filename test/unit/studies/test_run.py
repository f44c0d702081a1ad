"""A small study in the real world of MuJoCo, run, interrupted, gone on with and refused."""

from __future__ import annotations

import fcntl
import multiprocessing
import os

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError, load_record, read_yaml, resolve_uri
from robocontrast_ros.policies.baselines.language_table.noisy_oracle import NoisyOracleParameters
from robocontrast_ros.studies.job import Job, Stopped, StudyError, run_job
from robocontrast_ros.studies.parameters import load_study
from robocontrast_ros.studies.report import write_results
from robocontrast_ros.studies.run import StudyFolder, run_study
from robocontrast_ros.system.numerics import pinned

CLAIMS = {
    "claims": [
        {
            "id": "dearer",
            "source": "figure 6",
            "says": "the contrast set has more trials",
            "measure": {"kind": "trials_ratio", "of": ["both"], "against": ["standard"]},
            "holds": {"above": 1.0},
        }
    ]
}


def write_study(folder, **changes):
    task = read_yaml(resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    (folder / "short.yaml").write_text(yaml.safe_dump({**task, "step_limit": 12}))
    (folder / "claims.yaml").write_text(yaml.safe_dump(CLAIMS))
    content = {
        "name": "tiny",
        "task": "short.yaml",
        "robot": "franka",
        "policies": ["oracle"],
        "seeds": [0, 1],
        "test_set": {"size": 3},
        "strategies": [
            {"label": "standard", "name": "standard"},
            {"label": "both", "name": "contrast_set", "perturbations": ["LB1", "LB2", "SB2"]},
            {"label": "limited", "name": "limited_intervention"},
        ],
        "contrast": "both",
        "cap": 1.07,
        "bins": 10,
        "resamples": 100,
        "claims": "claims.yaml",
        **changes,
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    return path


def stable(table):
    """Return what must not depend on when and how often a study was started."""
    return table.drop("wall_time_s", "simulated").sort("study_seed", "strategy", "index")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("study")
    study = load_study(write_study(place))
    folder = StudyFolder(place / "tiny")
    told = []
    run_study(study, folder, 2, told.append)
    return study, folder, told, write_results(study, folder)


def test_all_strategies_are_run_and_what_they_share_is_simulated_once(run):
    _, folder, told, results = run
    trials = pl.read_parquet(folder.path / "trials.parquet")
    assert set(trials["strategy"]) == {"standard", "both", "limited"}
    assert set(trials["study_seed"]) == {0, 1}
    assert results.asked == trials.height == told[-1].asked
    assert results.simulated == int(trials["simulated"].sum()) == told[-1].simulated
    base = trials.filter(pl.col("strategy") == "both", pl.col("perturbation") == "base")
    assert not base["simulated"].any()
    assert told[-1].jobs_done == told[-1].jobs == 2
    assert told[-1].time_left == pytest.approx(0.0, abs=1e-6)


def test_the_others_keep_to_their_budget_and_the_standard_runs_to_its_end(run):
    _, _, _, results = run
    standard = {s.seed: s for s in results.sessions if s.strategy == "standard"}
    for session in results.sessions:
        if session.strategy == "standard":
            assert (session.reason, session.trials, session.budget) == ("all_trials", 3, None)
        else:
            assert session.budget == pytest.approx(1.07 * standard[session.seed].cost)
            assert session.cost <= session.budget + 1e-9


def test_curves_end_at_no_error_for_the_standard_and_every_file_is_there(run):
    _, folder, _, results = run
    curves = pl.read_csv(folder.path / "curves.csv")
    standard = curves.filter(pl.col("strategy") == "standard", pl.col("error").is_not_null())
    assert standard.sort("cost_to")["error"][-1] == pytest.approx(0.0, abs=1e-9)
    assert set(curves.filter(pl.col("strategy") == "both")["estimator"]) == {"plain", "base", "adjusted"}
    for stem in ("estimate_oracle", "trials_oracle", "estimators_oracle"):
        assert (folder.path / f"{stem}.pdf").read_bytes().startswith(b"%PDF")
        assert (folder.path / f"{stem}.png").stat().st_size > 10_000
    summary = (folder.path / "summary.md").read_text()
    assert f"asked for {results.asked} trials; {results.simulated} were simulated" in summary
    assert "| dearer | “the contrast set has more trials” |" in summary


def test_a_study_that_is_done_is_not_run_again_and_may_be_looked_at_anew(run, tmp_path):
    study, folder, _, _ = run
    told = []
    run_study(study, folder, 2, told.append)
    run_study(load_study(write_study(tmp_path, bins=20, claims=None)), folder, 2, told.append)
    assert told == []


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"cap": 2.0}, "study.cap"),
        ({"test_set": {"size": 4}}, "study.test_set.size"),
        ({"seeds": [0]}, "study.seeds"),
    ],
)
def test_a_folder_of_another_study_is_refused_by_the_key_that_differs(run, tmp_path, changes, key):
    _, folder, _, _ = run
    with pytest.raises(ConfigurationError, match="Name another folder with --output") as caught:
        run_study(load_study(write_study(tmp_path, **changes)), folder, 1, lambda progress: None)
    assert caught.value.key == key


def test_a_folder_of_another_version_is_refused(run, tmp_path, monkeypatch):
    study, folder, _, _ = run
    monkeypatch.setattr("robocontrast_ros.runs.versions.__version__", "9.9.9")
    with pytest.raises(ConfigurationError, match=r"`versions.robocontrast_ros`: got '9\.9\.9'"):
        run_study(study, folder, 1, lambda progress: None)


def test_a_job_that_is_stopped_goes_on_where_it_was_and_ends_alike(run, tmp_path):
    study, folder, _, _ = run
    job, told = Job("oracle", 0), []
    with pytest.raises(Stopped):
        run_job(job, study, tmp_path, told.append, lambda: told[-1].asked >= 5)
    simulated = told[-1].simulated
    assert simulated >= 4
    told.clear()
    run_job(job, study, tmp_path, told.append, lambda: False)
    whole = pl.read_parquet(folder.path / "trials.parquet").filter(pl.col("study_seed") == 0)
    assert stable(pl.read_parquet(tmp_path / "oracle_seed0.parquet")).equals(stable(whole))
    assert told[-1].simulated + simulated == int(whole["simulated"].sum())


def test_a_standard_evaluation_without_a_trial_ends_the_study_with_the_reason(run, tmp_path, monkeypatch):
    study, _, _, _ = run
    monkeypatch.setattr("robocontrast_ros.strategies.standard.solved_at_start", lambda task, instance: True)
    with pytest.raises(StudyError, match="oracle_seed0: the standard evaluation"):
        run_job(Job("oracle", 0), study, tmp_path, lambda progress: None, lambda: False)


def test_an_interrupt_ends_all_processes_and_keeps_what_was_simulated(tmp_path):
    study, begun = load_study(write_study(tmp_path, seeds=[0])), StudyFolder(tmp_path / "tiny")

    def interrupt(progress):
        if progress.asked:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, begun, 1, interrupt)
    assert multiprocessing.active_children() == []
    assert not begun.files(Job("oracle", 0)).done
    assert begun.files(Job("oracle", 0)).memory.stat().st_size


def test_processes_have_one_thread_each_where_the_user_has_not_said_else(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with pinned():
        assert (os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"]) == ("3", "1")
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_a_folder_that_is_in_use_is_refused(run):
    study, folder, _, _ = run
    with (folder.path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ConfigurationError, match="a study that another process is running"):
            run_study(study, folder, 1, lambda progress: None)


def test_the_command_runs_a_study_and_shows_what_came_out(run):
    study, folder, _, results = run
    output = str(folder.path.parent)
    found = CliRunner().invoke(app, ["study", str(study.source), "--output", output])
    assert found.exit_code == 0, found.output
    assert f"{results.asked} trials requested, {results.simulated} of them simulated" in found.output
    for shown in ("dearer", "error at equal cost", "change of success"):
        assert shown in found.output


def test_ctrl_c_is_exit_code_130_and_says_how_to_go_on(run, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("robocontrast_ros.studies.run.run_study", interrupted)
    study, folder, _, _ = run
    found = CliRunner().invoke(app, ["study", str(study.source), "--output", str(folder.path.parent)])
    assert found.exit_code == 130
    assert "the same command resumes it" in found.output


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policies": ["orakel"]}, "`policies`: got 'orakel'"),
        ({"task": "language_tabel"}, "Did you mean 'language_table'"),
        ({"contrast": "bth"}, "one of the strategies' labels: standard, both, limited"),
        ({"contrast": "limited"}, "perturbations for 'limited'"),
        ({"standard": "both"}, "no perturbations for 'both'"),
        ({"seeds": [1, 1]}, "each of the seeds once"),
        ({"strategies": [{"label": "standard", "name": "standrad"}] * 2}, "each of the labels once"),
        ({"claims": "nowhere.yaml"}, "nowhere.yaml"),
        ({"control": "orakel"}, "for `control` one of the policies: oracle"),
        ({"beside": ["random"]}, "for `beside` some of the policies, without the control: oracle"),
        ({"cap": None}, "a value for this required key"),
    ],
)
def test_a_study_that_does_not_fit_is_refused_by_file_and_key(tmp_path, changes, words):
    path = write_study(tmp_path, **changes)
    with pytest.raises(ConfigurationError) as caught:
        load_study(path)
    assert words in str(caught.value)


def test_a_strategy_that_is_not_known_is_refused_with_the_known_ones(tmp_path):
    strategies = [
        {"label": "standard", "name": "standard"},
        {"label": "both", "name": "contrast_sets", "perturbations": ["LB1"]},
    ]
    with pytest.raises(ConfigurationError, match=r"`strategies\.1\.name`.*Did you mean 'contrast_set'"):
        load_study(write_study(tmp_path, strategies=strategies, claims=None))


@pytest.mark.parametrize(
    ("name", "second"),
    [
        ("language_table", "language"),
        ("language_table_small", "language"),
        ("navigation", "contrast"),
        ("navigation_small", "contrast"),
        ("tabletop", "contrast"),
        ("tabletop_small", "contrast"),
        ("clutter", "contrast"),
        ("clutter_small", "contrast"),
    ],
)
def test_shipped_studies_load_and_have_an_oracle_as_control(name, second):
    study = load_study(name)
    assert len(study.claims) > 15
    assert [strategy.label for strategy in study.parameters.strategies][:2] == ["standard", second]
    assert study.control in ("oracle", "vln_oracle", "tabletop_oracle")
    assert study.control in study.policies


def test_the_direction_biased_policy_has_a_habit_and_no_other_weakness():
    file = resolve_uri("package://robocontrast_ros/config/policies/direction_biased.yaml")
    policy = load_record(NoisyOracleParameters, file)
    assert policy.habit == 0.75
    assert policy.action_noise == policy.wrong_direction == policy.wrong_block == 0.0
