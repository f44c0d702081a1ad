"""The command line without a graph: help, lists, plans, mistakes."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(arguments))


def test_help_names_every_command_and_says_how_to_begin():
    result = run("--help")
    assert result.exit_code == 0
    for word in ("evaluate", "plan", "score", "picture", "list", "robocontrast plan language_table_demo"):
        assert word in result.output


def test_without_a_command_it_is_help_that_is_shown():
    result = run()
    assert "robocontrast plan language_table_demo" in result.output
    assert "error" not in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        "evaluate",
        "plan",
        "policies",
        "objects",
        "results",
        "score",
        "picture",
        "report",
        "compare",
        "export",
        "list",
        "serve",
        "swap",
        "unblind",
    ],
)
def test_every_command_has_help_of_its_own(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_the_list_names_what_is_shipped():
    result = run("list")
    assert result.exit_code == 0
    for name in ("language_table_demo", "franka", "ur5e", "noisy_oracle", "contrast_set", "LB1"):
        assert name in result.output


def test_a_plan_shows_trials_costs_and_what_the_budget_cuts():
    result = run("plan", "language_table_demo", "--budget", "5")
    assert result.exit_code == 0
    assert "cost [m]" in result.output and "LB2" in result.output
    assert "within a budget of 5 m, if every trial succeeds." in result.output
    *_, blocks, last = result.output.strip().splitlines()
    assert re.fullmatch(r"([1-9]|1[01]) blocks of trials, independent of each other\.", blocks)
    kept, _, everything = last.split()[:3]
    assert 0 < int(kept) < int(everything)


@pytest.mark.parametrize(("order", "goes_back"), [("LB1,LB2", True), ("LB2,SB1", False)])
def test_a_plan_says_what_going_back_to_the_scene_of_the_test_instance_costs(order, goes_back):
    result = run("plan", "language_table_demo", "--size", "3", "--set", f"strategy.perturbations=[{order}]")
    assert result.exit_code == 0
    assert ("m are for going back to the scene of the test instance" in result.output) is goes_back


def test_a_plan_takes_every_key_of_the_session_from_the_command_line():
    chosen = ("--strategy", "standard", "--size", "2", "--repeats", "3")
    result = run("plan", "language_table_demo", *chosen, "--set", "seed=3")
    assert result.exit_code == 0
    assert "6 of 6 trials" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "language_table_demoo"], ["language_table_demoo", "Did you mean 'language_table_demo'?"]),
        (["evaluate"], ["SESSION", "language_table_demo"]),
        (
            ["evaluate", "language_table_demo", "--resume", "somewhere"],
            ["--resume", "with its own parameters"],
        ),
        (
            ["evaluate", "language_table_demo", "--policy-server", "extern"],
            ["`policy_server`", "extern", "'external'"],
        ),
        (
            ["evaluate", "language_table_demo", "--policy-server", "external", "--policy", "random"],
            ["`policy`", "random", "robocontrast swap"],
        ),
        (["evaluate", "language_table_demo", "--robot", "frankka"], ["frankka", "franka", "ur5e", "Did you mean"]),
        (["evaluate", "language_table_demo", "--robot", "locobot"], ["`robot`", "language_table.yaml", "is fixed"]),
        (["evaluate", "language_table_demo", "--policy", "orcale"], ["orcale", "oracle"]),
        (["evaluate", "language_table_demo", "--budget", "-1"], ["budget", "-1"]),
        (["evaluate", "language_table_demo", "--set", "task=language_tabel"], ["`task`", "language_table"]),
        (["evaluate", "language_table_demo", "--set", "sede=1"], ["`sede`", "seed"]),
        (["evaluate", "language_table_demo", "--set", "repeats=0"], ["`repeats`", "0"]),
        (["evaluate", "language_table_demo", "--set", "strategy.perturbations=[LB3]"], ["LB3", "LB1"]),
        (
            ["evaluate", "language_table_demo", "--set", "cameras=[{name: wrist, width: 64, height: 48}]"],
            ["wrist", "board"],
        ),
        (["plan", "language_table_demo", "--set", "test_set.sizes=3"], ["`test_set.sizes`", "mean 'size'"]),
        (
            ["plan", "language_table_demo", "--set", "seed"],
            ["`--set`", "'seed'", "key=value, such as setup."],
        ),
        (
            ["plan", "language_table_demo", "--set", "seed=[1"],
            ["`--set seed`", "(line 1, column 3)", "valid YAML"],
        ),
        (["evaluate", "language_table_demo", "--set", "seed=1", "--set", "seed=2"], ["`--set seed`", "once"]),
        (["evaluate", "--resume", "somewhere", "--size", "3"], ["--resume", "--size", "nothing else"]),
        (["evaluate", "--resume", "somewhere", "--practice"], ["--resume", "practice", "nothing else"]),
        (
            ["plan", "language_table_demo", "--budgett", "6"],
            ["--budgett", "Did you mean --budget?", "plan -h"],
        ),
        (["plan", "language_table_demo", "--budget", "six"], ["--budget", "a valid number", "plan -h"]),
        (["plan", "--budget"], ["--budget", "requires an argument"]),
        (["plan"], ["session", "plan -h"]),
        (["plann", "language_table_demo"], ["plann", "Did you mean 'plan'?"]),
        (["--nothing"], ["--nothing"]),
        (["results", "somewhere", "--within", "3"], ["--within", "0.5", "results -h"]),
        (["swap", "/nowhere", "random"], ["/nowhere", "a run folder"]),
        (["evaluate", "--resume", "/nowhere"], ["/nowhere", "a run folder"]),
        (["results", "/nowhere"], ["/nowhere", "a run folder"]),
        (["score", "/nowhere"], ["/nowhere", "a run folder"]),
        (["picture", "/nowhere"], ["/nowhere"]),
        (["report", "/nowhere"], ["/nowhere", "a run folder"]),
        (["compare", "/nowhere"], ["/nowhere", "a run folder"]),
        (["compare", "/nowhere", "/elsewhere"], ["/nowhere", "a run folder"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("begun", "found"),
    [
        ("ev", ["evaluate"]),
        ("tasks exp", ["export"]),
        ("evaluate --max", ["--max-trials"]),
        ("plan tabletop_d", ["tabletop_demo", "tabletop_difficulty"]),
        ("evaluate x --policy vln_o", ["vln_oracle"]),
        ("evaluate x --robot loco", ["locobot", "locobot_real"]),
        ("plan ./mine", []),
    ],
)
def test_a_shell_completes_commands_options_and_names(begun, found):
    words = ["robocontrast", *begun.split()]
    asked = {
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_ROBOCONTRAST_COMPLETE": "complete_bash",
    }
    result = CliRunner(env=asked).invoke(app, prog_name="robocontrast")
    assert result.exit_code == 0
    assert result.stdout.split() == found
