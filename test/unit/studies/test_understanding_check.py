"""A check of understanding from nothing: real sessions, the verdicts of which are compared with what is expected."""

from __future__ import annotations

import pytest
import yaml
from rich.console import Console
from typer import Exit

from robocontrast_ros.analysis.estimates.understanding import Verdict
from robocontrast_ros.cli.understanding import run_understanding
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.studies.understanding import load_check, run_check


@pytest.fixture
def check(tmp_path):
    """Write a check of two policies on two instances, with what is changed; return its file."""

    def write(**changes):
        session = {
            "name": "small",
            "seed": 0,
            "task": "language_table_two_blocks",
            "robot": "franka",
            "policy": "oracle",
            "strategy": {"name": "contrast_set", "perturbations": ["mask_all", "upper_case"]},
            "test_set": {"size": 2, "families": ["block_to_block"]},
        }
        (tmp_path / "session.yaml").write_text(yaml.safe_dump(session))
        content = {
            "name": "small",
            "session": "./session.yaml",
            "policies": ["oracle", "random"],
            "chance": "random",
            "seeds": [4],
            "expected": {"random": {"no skill": ["mask_all", "upper_case"]}},
        }
        file = tmp_path / "check.yaml"
        file.write_text(yaml.safe_dump(content | changes))
        return file

    return write


def test_a_check_runs_its_sessions_once_and_says_whether_the_verdicts_are_as_expected(tmp_path, check):
    console = Console(record=True, width=120)
    run_understanding(str(check()), tmp_path / "out", 1, console)
    assert "every verdict is the expected one" in console.export_text()
    assert {file.name for file in (tmp_path / "out" / "seed4").iterdir()} >= {"oracle", "random", "understanding_0.png"}
    runs = sorted((tmp_path / "out").glob("seed4/*/*/journal.jsonl"))
    assert len(runs) == 2
    wrong = {"oracle": {"acts without understanding": ["mask_all"]}, "random": {"no skill": ["vague"]}}
    with pytest.raises(Exit) as ended:
        run_understanding(str(check(expected=wrong)), tmp_path / "out", 1, console)
    assert ended.value.exit_code == 1
    said = console.export_text()
    assert "seed 4, oracle, mask_all: expected acts without understanding, found undecided" in said
    assert "seed 4, random, vague: expected no skill, found nothing" in said
    assert sorted((tmp_path / "out").glob("seed4/*/*/journal.jsonl")) == runs, "what is done is not run again"
    file, session = check(policies=["random"], expected={}), tmp_path / "session.yaml"
    session.write_text(session.read_text().replace("size: 2", "size: 1"))
    run_understanding(str(file), tmp_path / "out", 1, console)
    again = sorted((tmp_path / "out").glob("seed4/random/*/journal.jsonl"))
    assert len(again) == 2, "with another session, another run"


def test_the_shipped_check_expects_something_of_each_of_its_policies_and_perturbations():
    parameters, _ = load_check("understanding_demo")
    named = {policy: sorted(n for names in one.values() for n in names) for policy, one in parameters.expected.items()}
    assert set(named) == set(parameters.policies)
    assert len({tuple(names) for names in named.values()}) == 1 and len(named["oracle"]) == 8
    assert set(parameters.expected["blind"]) == {Verdict.ROBUST, Verdict.WITHOUT_UNDERSTANDING}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chance": "blind"}, "`chance`: got 'blind', expected one of the policies oracle, random"),
        ({"expected": {"blind": {}}}, "`expected`: got 'blind'"),
        ({"expected": {"oracle": {"wonderful": ["mask_all"]}}}, "expected.oracle.*robust"),
        ({"margin": 1.5}, "margin"),
    ],
)
def test_a_check_that_does_not_fit_is_one_clear_error(check, changes, words):
    file = str(check(**changes))
    with pytest.raises(ConfigurationError, match=words):
        load_check(file)


def test_a_session_that_is_not_there_is_named(tmp_path, check):
    parameters, file = load_check(str(check(session="none_such")))
    with pytest.raises(ConfigurationError, match="`session`: got 'none_such'"):
        list(run_check(parameters, file, tmp_path / "out", 1))
