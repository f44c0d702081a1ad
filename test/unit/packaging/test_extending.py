"""docs/extending*.md are a package: it is built, installed, tested and evaluated as somebody else's would be."""

from __future__ import annotations

import ast
import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import extending_page
import pytest

ROW = re.compile(
    r"^\| \[an? (\w[\w ]*)\]\((extending_\w+\.md)(?:#[\w-]+)?\) "
    r"\| (\d): (`own_lab.+?) \| .* \| `contracts/(\w+)\.py` \|$",
    re.MULTILINE,
)
KINDS = {
    *("score", "backend", "judge", "policy", "strategy", "perturbation", "filter of observations"),
    *("task", "robot", "gripper", "format of result files"),
}
SESSIONS = ("own_lab/session.yaml", "own_lab/table.yaml")


@pytest.fixture(scope="module")
def page(checkout):
    return (checkout / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def blocks():
    """Name of a file -> its text."""
    return extending_page.blocks()


@pytest.fixture(scope="module")
def rows(page):
    """What can be added -> the page that has it, how many files the table says it takes, and these."""
    return {
        what: (where, int(number), re.findall(r"`(.+?)`", files)) for what, where, number, files, _ in ROW.findall(page)
    }


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment in which the package is installed, and the folder that it is installed in."""
    site = tmp_path_factory.mktemp("site")
    return extending_page.install(tmp_path_factory.mktemp("project"), site), site


def run(variables, folder, *command):
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def robocontrast(variables, folder, *arguments):
    return run(variables, folder, Path(sys.executable).with_name("robocontrast"), *arguments)


def entry_points(blocks):
    """Return kind -> name -> module:Class, as the page registers them."""
    group = re.compile(r'^\[project\.entry-points\."robocontrast_ros\.(\w+)"\]\n((?:.+\n)+)', re.MULTILINE)
    line = re.compile(r'^(\w+) = "(\S+)"$', re.MULTILINE)
    return {kind: dict(line.findall(lines)) for kind, lines in group.findall(blocks["pyproject.toml"])}


@pytest.mark.long
def test_its_tests_pass_where_it_is_installed(environment, blocks, tmp_path):
    variables, _ = environment
    # In another folder, so that what is imported is what was installed.
    (tmp_path / "test_own_lab.py").write_text(blocks["test_own_lab.py"], encoding="utf-8")
    said = run(variables, tmp_path, sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider")
    classes = re.findall(r"^class (Test\w+)\((\w+)\)", blocks["test_own_lab.py"], re.MULTILINE)
    assert classes
    for name, _ in classes:
        assert f"PASSED test_own_lab.py::{name}::" in said


@pytest.mark.long
def test_the_command_lists_it(environment, blocks, tmp_path):
    variables, _ = environment
    listed = robocontrast({**variables, "COLUMNS": "400"}, tmp_path, "list")
    for names in entry_points(blocks).values():
        for name in names:
            assert re.search(rf"\b{name}\b", listed), name


@pytest.mark.long
def test_its_session_is_run_with_all_of_it(environment, tmp_path):
    variables, site = environment
    folder = site / "own_lab"
    robocontrast(variables, tmp_path, "evaluate", str(folder / "session.yaml"), "--fast")
    (run_folder,) = (tmp_path / "runs").iterdir()
    events = [json.loads(line) for line in (run_folder / "journal.jsonl").read_text().splitlines()]
    parameters = events[0]["parameters"]
    assert parameters["robot"]["name"] == "two_link"
    assert parameters["task"] == {"task": "push_aside"}
    assert parameters["policy"] == {"policy": "pusher", "name": "pusher", "step": 0.02}
    assert events[0]["symbols"] == {"OTHER_SIDE": "ΔOTHER"}
    with (run_folder / "trials.csv").open(encoding="utf-8") as file:
        trials = list(csv.DictReader(file))
    assert [trial["perturbation"] for trial in trials] == ["base", "OTHER_SIDE"] * 2
    assert {trial["policy"] for trial in trials} == {"pusher"}
    assert {trial["instruction"] for trial in trials} == {"push the moon to the left", "push the moon to the right"}
    assert [float(trial["success"]) for trial in trials] == [1.0] * 4, "the pusher is an oracle"
    assert all(0.15 < float(trial["object_path_m"]) < 1.0 for trial in trials)
    # The usual judge ends a trial at the line, 0.15 m from the middle; this one where the policy lets the moon rest.
    ends = [event["result"]["final_scene"]["objects"][0] for event in events if event["event"] == "trial_finished"]
    assert all(abs(moon["pose"]["position"][1]) > 0.22 for moon in ends)
    said = robocontrast(variables, tmp_path, "score", str(run_folder))
    assert said.startswith("4 of 4 trials: the scores from the bag are exactly the journal's.")


DESCRIBE = """
import json, sys, time
from robocontrast_ros.graph.description import nodes_of
from robocontrast_ros.sessions.resolving import resolve
session = resolve(sys.argv[1])
print(json.dumps({node.name: node.parameters for node in nodes_of(session, session.new_run(time.time()))}))
"""


@pytest.mark.long
def test_at_its_table_the_graph_has_its_backend_and_no_simulator(environment, tmp_path):
    variables, site = environment
    nodes = json.loads(run(variables, tmp_path, sys.executable, "-c", DESCRIBE, site / "own_lab" / "table.yaml"))
    assert "simulator" not in nodes
    assert (nodes["sim_bridge"]["backend"], nodes["sim_bridge"]["stream"]) == ("notes", False)
    assert (nodes["rollout"]["pacing"], nodes["scorer"]["judge"]) == ("wall_clock", "outside")


def test_the_table_says_which_files_each_takes(rows, blocks, checkout):
    assert set(rows) == KINDS
    for where, number, (first, *parameter_files) in rows.values():
        assert number == 1
        assert {first, *parameter_files} <= set(extending_page.blocks_of(checkout / "docs" / where))
        assert all(Path(file).suffix == ".yaml" and Path(file).stem == Path(first).stem for file in parameter_files)
    named = [file for *_, files in rows.values() for file in files]
    assert sorted(named) == sorted(set(blocks) - {"pyproject.toml", "test_own_lab.py", *SESSIONS})
    for module in (checkout / "robocontrast_ros").rglob("*.py"):
        assert "own_lab" not in module.read_text(encoding="utf-8")


def test_the_overview_leads_to_each_page(page):
    for other in extending_page.PAGES:
        assert other.name == "extending.md" or f"]({other.name}" in page


def imported_by(code):
    """Return the packages that a module imports from."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return {name.partition(".")[0] for name in names}


def test_each_is_added_by_its_own_files_and_its_line_of_entry_points_alone(rows, blocks):
    registered = [place for names in entry_points(blocks).values() for place in names.values()]
    for *_, files in rows.values():
        if not files[0].endswith(".py"):
            continue
        assert imported_by(blocks[files[0]]) <= {*sys.stdlib_module_names, "numpy", "robocontrast_ros"}
        module = files[0].removesuffix(".py").replace("/", ".")
        assert [place.partition(":")[0] for place in registered].count(module) == 1
        assert {name for name, text in blocks.items() if module in text} == {"pyproject.toml", "test_own_lab.py"}


def test_every_contract_has_a_row_and_an_example(page, blocks, checkout):
    contracts = {path.stem for path in (checkout / "robocontrast_ros" / "contracts").glob("*.py")}
    contracts -= {"__init__", "checking", "on_a_task", "played"}
    assert {contract for *_, contract in ROW.findall(page)} == contracts
    for contract in contracts:
        assert f"from robocontrast_ros.contracts.{contract} import" in blocks["test_own_lab.py"]
