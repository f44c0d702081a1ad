"""`robocontrast score` as a user sees it."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest
from line_world import LineBench, line_evaluation
from own_scores import Turning
from played_runs import record_run
from session_runs import COMMAND, SUPPORT, finish, wait_until
from trial_bags import kill
from typer.testing import CliRunner

from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import Fault
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.loop import run_session


def score(*arguments: object):
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["score", *map(str, arguments)])


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A success, a fault of the policy, a void trial."""
    faults = [Fault.NONE, Fault.POLICY_RAISED, Fault.ABORTED]
    return record_run(tmp_path_factory.mktemp("runs") / "first", faults)


@pytest.fixture
def copy(run, tmp_path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "second"))


def test_runs_are_compared_with_their_journals(run, copy):
    result = score(run, copy)
    assert result.exit_code == 0
    assert result.output == "6 of 6 trials: the scores from the bag are exactly the journal's.\n"


def test_bags_without_a_journal_are_shown_with_their_means(run, tmp_path):
    shutil.copytree(run / "bags", tmp_path / "bags")
    result = score(tmp_path / "bags")
    assert result.exit_code == 0
    for words in ("0000  base         success", "0001  base         policy fault", "0002  base         void"):
        assert words in result.output
    (means,) = re.findall(r"^base +(\d+) +(\d+) +([\d.]+)", result.output, re.MULTILINE)
    assert means == ("2", "1", "0.50")
    assert "3 of 3 bags were scored with no journal to compare with" in result.output


def test_a_torn_bag_is_in_the_table_with_the_reason_and_how_far_it_was_scored(copy):
    kill(copy / "bags" / "0000")
    (file,) = (copy / "bags" / "0001").glob("*.mcap")
    os.truncate(file, 100)
    shutil.rmtree(copy / "bags" / "0002")
    result = score(copy)
    assert result.exit_code == 1
    # Words are broken wherever a line is full.
    words = re.sub(r"[│\s]", "", result.output)
    for expected in ("no metadata.yaml", "holds 0 trials, expected 1", "0002: no such bag", "0 of 3 trials"):
        assert re.sub(r"\s", "", expected) in words


def test_other_thresholds_are_shown_beside_the_trials_own_and_written(run, tmp_path):
    result = score(run, "--set", "step_limit=3", "--to", tmp_path / "out")
    assert result.exit_code == 0
    assert "thresholds: step_limit: 200 -> 3" in result.output
    assert re.search(r"^0000 +base +1\.00 -> 0\.00 ", result.output, re.MULTILINE)
    assert re.search(r"^all +2 +0 +1 +0\.50 -> 0\.00 ", result.output, re.MULTILINE)
    assert "1 of 3 trials: void: the trial is void" in result.output
    table = pl.read_parquet(tmp_path / "out" / "rescored.parquet")
    assert table["success"].to_list() == [0.0, 0.0, None]
    assert table["steps"].to_list() == [3, 3, None]


def test_a_mistake_in_a_threshold_is_one_line(run):
    result = score(run, "--set", "block_to_block.withn=0.1")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ") and "Did you mean 'within'?" in line


def test_a_folder_that_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "file").touch()
    result = score(run, "--to", tmp_path / "file")
    assert result.exit_code == 2
    assert (
        result.stderr
        == f"error: {tmp_path / 'file'}: cannot be written: File exists. Check the path, then do the same again.\n"
    )


@pytest.mark.parametrize(
    ("faults", "void", "words"),
    [
        ([], 0, "No trial that counts in"),
        ([], 2, "No trial that counts in"),
        ([Fault.NONE], 0, "1 of 1 trial: the scores"),
    ],
    ids=["empty", "void only", "one trial"],
)
def test_a_run_that_came_to_little_says_so(tmp_path, faults, void, words):
    folder = record_run(tmp_path / "run", faults, void)
    result = score(folder, "--set", "step_limit=3")
    assert result.exit_code == 0
    assert words in result.output
    shown = CliRunner().invoke(app, ["results", str(folder)])
    assert shown.exit_code == 0
    assert (f"No trial counts; {counted(void, 'attempt was', 'attempts were')} void." in shown.output) is (not faults)


def test_a_run_without_bags_is_one_sentence(copy):
    journal = copy / "journal.jsonl"
    journal.write_text(re.sub(r'"bags/\d+"', '""', journal.read_text()))
    result = score(copy)
    assert result.exit_code == 1
    assert result.output == "3 trials, none of them recorded: there is no bag to score.\n"


def test_control_c_ends_it_in_a_word(tmp_path):
    folder = record_run(tmp_path / "slow", [Fault.NONE, Fault.NONE], task="fatal_tasks:Slow")
    process = subprocess.Popen(
        [*COMMAND, "score", str(folder), "--processes", "2"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    wait_until((folder / "parameters" / "begun").exists, "scoring")
    os.killpg(process.pid, signal.SIGINT)
    (folder / "parameters" / "go").touch()
    code, output = finish(process)
    assert (code, output) == (130, "stopped\n")


def blocks(page: str) -> list[str]:
    text = (Path(__file__).parents[3] / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_score_in_the_documentation_is_the_one_that_is_tested():
    names: dict[str, object] = {}
    exec(blocks("score_own.md")[0], names)
    assert names["Turning"].spec == Turning.spec
    source = inspect.getsource(Turning)
    assert source[source.index("def __init__") :].strip() in blocks("score_own.md")[0]


def test_the_questions_in_the_documentation_are_answered(tmp_path, monkeypatch):
    for index in range(2):
        folder = RunFolder(tmp_path / "runs" / f"run{index}")
        folder.path.mkdir(parents=True)
        run_session(line_evaluation(seed=index), LineBench(), folder.journal)
        write_results(folder)
    monkeypatch.chdir(tmp_path)
    first, second = blocks("own_questions.md")
    names: dict[str, object] = {}
    exec(first, names)
    trials, answer = names["trials"].filter("counts"), names["answer"]
    assert trials["run"].n_unique() == 2
    assert answer["trials"].sum() == len(trials)
    own = trials.filter(perturbation=answer["perturbation"][0], family=answer["family"][0])
    assert answer["spl"][0] == pytest.approx(own["spl"].mean())
    exec(second, names)
    assert names["answer"]["perturbation"].to_list() == sorted(trials["perturbation"].unique())
