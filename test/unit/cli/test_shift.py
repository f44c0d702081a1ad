"""`robocontrast shift`: how large the changes of a run's scenes look, by its cameras, and where pages show it."""

from __future__ import annotations

import shutil
from base64 import b64encode
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
import yaml
from here import command_here, session_here
from matplotlib.figure import Figure
from session_runs import Workplace, finished
from undrawn import undrawn

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.report.observation_shift import shift_section
from robocontrast_ros.analysis.report.pictures import CHANGE_GAP, change_file
from robocontrast_ros.analysis.report.trials import attempts_of
from robocontrast_ros.analysis.tables.visual_change import COLUMNS, read_changes
from robocontrast_ros.configuration import ConfigurationError, read_yaml, resolve_uri
from robocontrast_ros.images.difference import VisualChange
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder

SHIPPED = read_yaml(resolve_uri("package://robocontrast_ros/config/sessions/kitchen_c1.yaml"))


def run_of(folder, **changes):
    """Run a short session with images and return its folder; what the policy does is no matter."""
    place = Workplace(folder)
    content = {
        "task": place.short_task(2, "kitchen"),
        "policy": "hand_random",
        "test_set": {"size": 2, "families": ["kitchen_1_open_top_drawer", "kitchen_6_close_microwave"]},
        "cameras": [{"name": "agent", "width": 160, "height": 120}, {"name": "wrist", "width": 80, "height": 60}],
        "camera_images": "every_step",
        "strategy": {"name": "contrast_set", "perturbations": ["S_toggle", "S_add"]},
    }
    return RunFolder(session_here(place.session(**SHIPPED | content | changes)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("shift"))


@pytest.fixture(scope="module")
def measured(run, tmp_path_factory):
    """A copy of the run after `shift`."""
    copy = RunFolder(Path(shutil.copytree(run.path, tmp_path_factory.mktemp("measured") / run.name)))
    code, output = command_here("shift", copy.path)
    assert code == 0, output
    return copy, output


def modifications_on_page(run):
    """Return what the page of a run shows of modifications."""
    results = compute_results(read_journal(run.journal))
    return shift_section(results, attempts_of(run, results)).modifications


def test_each_change_of_a_scene_has_its_size_in_each_camera(measured):
    run, output = measured
    table = pl.read_csv(run.shift / "visual_change.csv", schema_overrides={"trial": pl.String})
    assert table.columns == list(COLUMNS)
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
    assert all(kind == name.removeprefix("S_") for kind, name in zip(table["kind"], table["perturbation"], strict=True))
    picture = cv2.imread(str(run.shift / "changes.png"))
    assert picture is not None and picture.std() > 20
    assert "S_toggle" in output and "Spearman's rho" in output
    sizes = read_changes(run.shift)
    assert set(sizes) == set(table["trial"]) and len(sizes) == 3
    for row in table.iter_rows(named=True):
        assert sizes[row["trial"]][row["camera"]] == VisualChange(row["pixels"], row["mean"], row["bodies"])


def test_each_changed_trial_has_a_picture_of_before_and_after(measured):
    run, _ = measured
    changed = {event.trial.trial_id: event.trial for event in finished(run.path) if not event.trial.is_base}
    assert {path.stem for path in run.shift.glob("*.webp")} == set(changed)
    for trial_id, trial in changed.items():
        picture = cv2.imread(str(change_file(run.shift, trial_id)))
        # The wrist's picture is drawn as wide as the other.
        assert picture.shape == (120 + CHANGE_GAP + 120, 160 + CHANGE_GAP + 160, 3)
        before, after = (picture[:120, part].astype(float) for part in (slice(None, 160), slice(-160, None)))
        changed_pixels = (np.abs(before - after).max(axis=2) > 40.0).mean()
        assert 0.001 < changed_pixels < 0.2, trial.note


def test_the_report_shows_every_modification_with_its_size_its_outcomes_and_its_picture(measured, monkeypatch):
    run, _ = measured
    # Its maps and figures are no matter here.
    monkeypatch.setattr(Figure, "savefig", undrawn)
    code, output = command_here("report", run.path)
    assert code == 0, output
    page = (run.path / "report.html").read_text()
    assert page.count('data-became="same"') == 3 and page.count("✗ → ✗") == 6, "in the table, and opened"
    for event in finished(run.path):
        if not event.trial.is_base:
            assert f'<td data-sort="{event.trial.note.partition("; ")[0]}">' in page
    for file in run.shift.glob("*.webp"):
        assert b64encode(file.read_bytes()).decode() in page
    cells = {
        sizes["agent"].pixels: page.index(f'data-sort="{sizes["agent"].pixels}">{100 * sizes["agent"].pixels:.1f}</td>')
        for sizes in read_changes(run.shift).values()
    }
    assert sorted(cells, key=cells.get) == sorted(cells, reverse=True), "the largest first"
    assert "robocontrast shift" not in page


def test_without_sizes_a_page_has_recorded_images_and_says_how_to_measure(run, measured, tmp_path):
    found = modifications_on_page(run)
    assert (found.unmeasured, found.cameras, len(found.rows)) == (run.name, (), 3)
    for row in found.rows:
        assert [caption for caption, _ in row.pictures] == ["own scene", "modified scene", "its end"]
    partly = RunFolder(Path(shutil.copytree(measured[0].path, tmp_path / "partly")))
    file = partly.shift / "visual_change.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-2]))
    found = modifications_on_page(partly)
    assert (found.unmeasured, found.cameras) == ("partly", ("agent", "wrist"))
    assert [len(row.sizes) for row in found.rows].count(0) == 1
    file.write_text("trial,camera\n0001,agent\n")
    with pytest.raises(ConfigurationError, match="Write it again: `robocontrast shift RUN`"):
        read_changes(partly.shift)


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
