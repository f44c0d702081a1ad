"""`robocontrast shift`: how large the changes of a run's scenes look, by its cameras."""

from __future__ import annotations

import time

import cv2
import polars as pl
import pytest
import yaml
from here import command_here
from session_runs import Workplace

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.resolving import resolve

SHIPPED = read_yaml(resolve_uri("package://robocontrast_ros/config/sessions/kitchen_c1.yaml"))


def run_of(folder, **changes):
    """Run a short session and return its folder; what the policy does is no matter."""
    place = Workplace(folder)
    content = {
        "task": place.short_task(2, "kitchen"),
        "policy": "hand_random",
        "test_set": {"size": 2, "families": ["kitchen_1_open_top_drawer", "kitchen_6_close_microwave"]},
        "cameras": [{"name": "agent", "width": 160, "height": 120}, {"name": "wrist", "width": 80, "height": 60}],
        "strategy": {"name": "contrast_set", "perturbations": ["S_toggle", "S_add"]},
    }
    session = resolve(place.session(**SHIPPED | content | changes))
    run = session.new_run(now=time.time())
    bench = open_bench(session)
    run_session(session.evaluation(), bench, run.journal)
    bench.close()
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("shift"))


def test_each_change_of_a_scene_has_its_size_in_each_camera(run, tmp_path):
    code, output = command_here("shift", run.path, "--to", tmp_path / "shift")
    assert code == 0, output
    table = pl.read_csv(tmp_path / "shift" / "visual_change.csv")
    # No other part of the microwave's kitchen has two states.
    assert sorted(zip(table["problem"], table["perturbation"], table["camera"], strict=True)) == [
        ("kitchen_1_open_top_drawer", "S_add", "agent"),
        ("kitchen_1_open_top_drawer", "S_add", "wrist"),
        ("kitchen_1_open_top_drawer", "S_toggle", "agent"),
        ("kitchen_1_open_top_drawer", "S_toggle", "wrist"),
        ("kitchen_6_close_microwave", "S_add", "agent"),
        ("kitchen_6_close_microwave", "S_add", "wrist"),
    ]
    agent = table.filter(camera="agent")
    assert (agent["pixels"] > 0.0).all() and (agent["bodies"] > 0.0).all() and (agent["mean"] < agent["pixels"]).all()
    toggled = agent.filter(perturbation="S_toggle")["bodies"][0]
    assert 0.01 < toggled < 0.2, "an open drawer"
    picture = cv2.imread(str(tmp_path / "shift" / "changes.png"))
    assert picture is not None and picture.std() > 20
    assert "S_toggle" in output and "Spearman's rho" in output


def test_a_run_without_changed_scenes_is_refused(tmp_path):
    words = run_of(tmp_path, strategy={"name": "contrast_set", "perturbations": ["full_stop"]})
    code, output = command_here("shift", words.path)
    assert code == 2 and "trials in changed scenes" in output


def test_a_run_without_cameras_is_refused(tmp_path, run):
    text = yaml.safe_load(run.session_file.read_text())
    blind = tmp_path / "run"
    blind.mkdir()
    for file in run.path.iterdir():
        if file.is_file():
            (blind / file.name).write_bytes(file.read_bytes())
    target = blind / run.session_file.relative_to(run.path)
    target.parent.mkdir(exist_ok=True)
    target.write_text(yaml.safe_dump({**text, "cameras": []}))
    code, output = command_here("shift", blind)
    assert code == 2 and "cameras" in output
