"""A command or node imports what it needs, and no more: large libraries take longer than many a command."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest
from played_runs import record_run

from robocontrast_ros.domain import Fault

PICTURES = {"matplotlib", "cv2", "mujoco"}
STATISTICS = {"pandas", "statsmodels"}
LARGE = {*PICTURES, *STATISTICS, "daqp", "lark", "numpy", "polars", "rclpy", "scipy", "shapely", "torch"}

PROGRAM = """
import json, sys
from robocontrast_ros.cli.main import app
codes = []
for words in json.loads(sys.argv[1]):
    try:
        app(words)
    except SystemExit as end:
        codes.append(end.code)
print(json.dumps([codes, sorted(sys.modules)]), file=sys.stderr)
"""


def imported(*commands: str) -> tuple[list[int], set[str]]:
    """Return the exit codes of commands, and the modules that a process has imported which runs them one by one."""
    words = json.dumps([command.split() for command in commands])
    done = subprocess.run([sys.executable, "-c", PROGRAM, words], capture_output=True, text=True, check=True)
    codes, modules = json.loads(done.stderr.splitlines()[-1])
    return codes, set(modules)


def test_what_computes_nothing_imports_no_large_library():
    right = ("--help", "list", "plan --help")
    wrong = (
        *("plann", "plan --budget six"),
        *(f"{command} nosuch" for command in ("evaluate", "results", "plan", "report", "compare", "levels")),
        *(f"evaluate language_table_demo {option} nosuch" for option in ("--robot", "--policy")),
    )
    codes, modules = imported(*right, *wrong)
    assert codes == [*[0] * len(right), *[2] * len(wrong)]
    assert modules & LARGE == set()


def test_counts_are_compared_without_a_simulator_a_table_or_a_picture_and_without_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    codes, modules = imported("compare 17/20 14/20", "compare 19/20 9/20 --control 9/20 --control 9/20")
    assert codes == [3, 0]
    assert "scipy" in modules
    assert modules & ({*LARGE, *PICTURES, *STATISTICS, "pyarrow"} - {"numpy", "scipy"}) == set()
    assert list(tmp_path.iterdir()) == []


def test_results_of_a_run_import_no_statistics_and_where_its_pictures_are_there_nothing_to_draw(tmp_path):
    run = record_run(tmp_path / "run", [Fault.NONE, Fault.POLICY_RAISED, Fault.NONE])
    unneeded = {*STATISTICS, "daqp", "rclpy", "scipy.optimize", "scipy.stats", "torch"}
    codes, modules = imported(f"results {run}")
    assert codes == [0]
    assert {"matplotlib", "polars"} <= modules
    assert modules & unneeded == set()
    codes, modules = imported(f"results {run}")
    assert codes == [0]
    assert modules & {*PICTURES, *unneeded} == set()


def test_the_page_of_a_run_is_made_without_statistics_of_comparisons(tmp_path):
    run = record_run(tmp_path / "run", [Fault.NONE])
    codes, modules = imported(f"report {run}")
    assert codes == [0]
    assert "matplotlib" in modules
    assert modules & {*STATISTICS, "rclpy", "scipy.stats", "torch"} == set()


def test_the_list_of_policies_loads_no_network_and_no_task():
    codes, modules = imported("policies")
    assert codes == [0]
    assert modules & (LARGE - {"numpy"} | {"requests", "tokenizers", "websockets"}) == set()


def test_a_plan_of_a_language_table_is_made_without_scipy():
    codes, modules = imported("plan language_table_demo")
    assert codes == [0] and "robocontrast_ros.tasks.roadmap" in modules
    assert "scipy" not in modules


NOT_IN_NODES = {"cv2", "daqp", "lark", "matplotlib", "mujoco", "pandas", "polars", "scipy.stats", "shapely", "torch"}


@pytest.mark.skipif(importlib.util.find_spec("rclpy") is None, reason="nodes need ROS")
@pytest.mark.parametrize("node", ["recorder", "watchdog", "policy_server"])
def test_a_node_that_moves_no_robot_imports_neither_simulator_nor_task(node):
    program = f"import json, sys, robocontrast_ros.nodes.{node}_node; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout))
    assert "rclpy" in modules
    assert modules & NOT_IN_NODES == set()


@pytest.mark.skipif(importlib.util.find_spec("rclpy") is None, reason="nodes need ROS")
@pytest.mark.skipif(importlib.util.find_spec("dartpy") is None, reason="dartpy has no wheel for this Python")
def test_the_simulator_of_another_engine_imports_no_mujoco():
    program = (
        "import json, sys, robocontrast_ros.nodes.second_simulator_node, robocontrast_ros.worlds.engines.dart\n"
        "from robocontrast_ros.robots.profile import load_profile\n"
        "load_profile('franka_hand')\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout))
    assert {"rclpy", "dartpy"} <= modules
    assert modules & NOT_IN_NODES == set()
    ours = {name.rpartition(".")[2] for name in modules if name.startswith("robocontrast_ros.worlds.mujoco.")}
    assert ours == {"entities", "sensors"}, "records without MuJoCo"
