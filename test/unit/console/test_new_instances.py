"""Test instances that are recorded at the console: looked at, checked, kept in a file."""

from __future__ import annotations

import numpy as np
import pytest
from vln_scenes import APARTMENT

from robocontrast_ros.console.new_instances import NewInstances, NotRecorded, Recording
from robocontrast_ros.domain import Scene
from robocontrast_ros.tasks.recorded import load_instances

INSTANCE = APARTMENT.sample(np.random.default_rng(3), "x")


@pytest.fixture
def recorder(tmp_path):
    return NewInstances(APARTMENT, tmp_path / "instances.yaml", lambda: INSTANCE.scene, "as it is")


def test_what_is_kept_is_in_the_file_and_another_recorder_goes_on(recorder, tmp_path):
    recording = recorder.survey()
    assert recording.scene == INSTANCE.scene and recording.draft is None
    path = tuple((x, y) for x, y in INSTANCE.reference_path)
    recording = recorder.check(recording, INSTANCE.instruction.text, path, "Ada")
    assert "shortest path" in recording.draft.understood
    assert len(recording.draft.regions) >= 2
    recording = recorder.keep(recording)
    assert recording.draft is None and recorder.kept == (("r0001", INSTANCE.instruction.text),)
    file = tmp_path / "instances.yaml"
    (found,) = load_instances(file, APARTMENT)
    assert found.instruction == INSTANCE.instruction
    assert found.reference_path == pytest.approx(np.round(path, 4))
    again = NewInstances(APARTMENT, file, lambda: INSTANCE.scene, "as it is")
    recording = again.check(again.survey(), INSTANCE.instruction.text, (), "")
    again.keep(recording)
    assert [name for name, _ in again.kept] == ["r0001", "r0002"]


@pytest.mark.parametrize(
    ("words", "path", "reason"),
    [("make tea", (), "does not know"), (INSTANCE.instruction.text, ((0.0, 0.0), (1.0, 1.0)), "walked path")],
)
def test_what_is_no_instance_is_not_taken_and_nothing_is_written(recorder, tmp_path, words, path, reason):
    with pytest.raises(NotRecorded, match=reason):
        recorder.check(recorder.survey(), words, path, "")
    assert not (tmp_path / "instances.yaml").exists()


def test_what_was_not_looked_at_or_checked_is_not_taken(recorder):
    with pytest.raises(NotRecorded, match="no scene"):
        recorder.check(Recording(), INSTANCE.instruction.text, (), "")
    with pytest.raises(NotRecorded, match="no instance was checked"):
        recorder.keep(recorder.survey())


def test_a_scene_of_which_nothing_is_known_is_refused(tmp_path):
    recorder = NewInstances(APARTMENT, tmp_path / "instances.yaml", Scene, "as it was set up last")
    with pytest.raises(NotRecorded, match="set one up first"):
        recorder.survey()


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    recorder = NewInstances(APARTMENT, tmp_path / "no folder" / "instances.yaml", lambda: INSTANCE.scene, "as it is")
    recording = recorder.check(recorder.survey(), INSTANCE.instruction.text, (), "")
    with pytest.raises(NotRecorded, match="cannot be written"):
        recorder.keep(recording)
