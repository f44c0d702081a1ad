"""Every script of benchmark/ runs to its end, on as little as it takes."""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import closing
from functools import partial
from operator import attrgetter
from unittest import mock

import pytest
from chromium import chromium_missing
from session_runs import Workplace

from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds import in_process

RUN = "RUN"
"""Stands for the folder of a run with bags."""

QUICK = {
    "camera_judge": "--scenes 1 --only language_table",
    "carry_over": "--draws 1",
    "fuzz_console": "--requests 20",
    "kitchen_physics": "--steps 2",
    "kitchen_skills": "--draws 1 --skills kitchen_3_turn_on_stove --robot franka_hand ur5e_2f85 --json",
    "sequential_comparison": "--draws 2",
    "suite_tasks": "--draws 1 --tasks hot_stove/* --json",
    "tabletop_oracle": "franka_hand --scenes 1 --families pick",
    "tabletop_scenes": "--scenes 1",
    "two_engines": "--json",
}
LONG = {
    "clutter": "--instances 1",
    "clutter_bins": "--instances 1 --repeats 1",
    "graph_overhead": "--trials 2",
    "hands": "mug",
    "interval_coverage": "--draws 1",
    "idle_load": "--robots franka --seconds 1",
    "offline_scoring": RUN,
    "recorder_load": "--minutes 0.05",
    "report_load": RUN,
    "rounding_ties": "film_bc_state --trials 1",
    "safety_limits": "--trials 1",
    "stop_times": "--only killed --trials 1",
    "tabletop_perturbations": "--instances 1 --ordered 1",
    "trial_rate": "oracle --processes 1 --trials 1",
    "wall_clock": "--sessions small --instances 1 --camera-rate 5",
}
"""Name -> arguments. Those that start a graph, or take more than 5 s of processor time, are long."""

ONE_BIN = Overrides(settings={"strategy.perturbations": [{"name": "clutter_bin", "bin": 1, "edges": [2.7]}]})
LESS = {
    "clutter": {"KINDS": lambda kinds: kinds[::5]},
    "clutter_bins": {"SIZES": lambda sizes: sizes[:2], "resolve": lambda resolve: partial(resolve, overrides=ONE_BIN)},
    "graph_overhead": {"GRAPHS": lambda graphs: dict([*graphs.items()][:1]), "SIZE": lambda size: 64},
    "hands": {"Bench.steps_a_second.__defaults__": lambda seconds: (1.0,)},
    "idle_load": {"laboratory": lambda laboratory: partial(laboratory, camera_period=0.2)},
    "offline_scoring": {"REPEATS": lambda number: 1},
    "report_load": {"REPEATS": lambda number: 1},
    "rounding_ties": {"KERNELS": lambda kernels: {"sse4_2": kernels["sse4_2"]}},
    "safety_limits": {"SESSIONS": lambda sessions: (sessions[0], sessions[-2])},
    "tabletop_perturbations": {"NAMES": lambda names: names[:2]},
}
"""Name -> its constants that no argument makes less, each with what makes it less."""

ELSEWHERE = {"policy_server": "test/graph/test_policy_server_benchmark.py"}
"""Name -> the test that runs it."""


@pytest.fixture
def restored(monkeypatch, checkout):
    """Give back, afterwards, what scripts change in this process."""
    monkeypatch.syspath_prepend(checkout)
    monkeypatch.setattr(in_process, "make_safety_filter", in_process.make_safety_filter)
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory):
    """The folder of a run of two trials, with their bags."""
    folder = tmp_path_factory.mktemp("runs")
    session = resolve("language_table_demo", Overrides(policy="oracle", max_trials=2, output=str(folder)))
    run = session.new_run(1_790_000_000.0)
    with closing(open_bench(session, recorder=trial_recorder(session, run))) as bench:
        run_session(session.evaluation(), bench, run.journal)
    return run.path


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)])
def test_it_runs(name, monkeypatch, tmp_path, request, capfd):
    if name == "report_load" and (missing := chromium_missing()):
        pytest.skip(missing)
    if name == "two_engines":
        pytest.importorskip("dartpy", reason="dartpy has no wheel for this Python")
    words = (QUICK | LONG)[name].split()
    if RUN in words:
        words[words.index(RUN)] = str(request.getfixturevalue("recorded_run"))
    monkeypatch.setattr(sys, "argv", [name, *words])
    script = importlib.import_module(f"benchmark.{name}")
    for path, less in LESS.get(name, {}).items():
        *of, constant = path.rsplit(".", 1)
        owner = attrgetter(*of)(script) if of else script
        monkeypatch.setattr(owner, constant, less(getattr(owner, constant)))
    if name == "wall_clock":
        small = script.Compared(str(Workplace(tmp_path).session()), "franka", "oracle")
        monkeypatch.setattr(script, "SESSIONS", {"small": small})
    assert not script.main()
    assert capfd.readouterr().out


@pytest.mark.usefixtures("restored")
def test_skills_of_the_kitchen_that_were_kept_are_not_measured_again(tmp_path, monkeypatch, capsys):
    skill = "kitchen_3_turn_on_stove"
    script = importlib.import_module("benchmark.kitchen_skills")
    rows = [script.Measured(skill, 0, True, 40), script.Measured(skill, 1, False, 250, ("stove",), "a fault")]
    script.Kept(tmp_path / "franka_hand.json", "franka_hand", range(2)).add(rows)
    words = [*f"--draws 2 --skills {skill} --json --keep".split(), str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["kitchen_skills", *words])
    script.main()
    found = json.loads(capsys.readouterr().out)
    assert found["seed"] == [0, 1]
    assert found["rows"] == [["franka_hand", skill, 2, 1, 1, 145.0, "1 a fault"]]
    (tmp_path / "franka_hand.json").rename(tmp_path / "ur5e_2f85.json")
    monkeypatch.setattr(sys, "argv", ["kitchen_skills", *words, "--robot", "ur5e_2f85"])
    with pytest.raises(SystemExit):
        script.main()
    assert "robot: got franka_hand, expected ur5e_2f85; use another folder" in capsys.readouterr().err


def test_none_is_forgotten(checkout):
    scripts = {file.stem for file in (checkout / "benchmark").glob("*.py")}
    assert scripts == {*QUICK, *LONG, *ELSEWHERE}
    for name, test in ELSEWHERE.items():
        assert name in (checkout / test).read_text(encoding="utf-8")
