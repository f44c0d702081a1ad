"""`robocontrast perturbations`: the list, and what becomes of one test instance."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import cv2
import pytest
import yaml

from robocontrast_ros.analysis.figures import shown
from robocontrast_ros.cli.perturbations import perturbations
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.perturbations.loading import load_perturbation, perturbation_names


@pytest.fixture
def session(tmp_path):
    """Write a session with three perturbations and return its file."""
    file = tmp_path / "session.yaml"
    content = {
        "name": "small",
        "seed": 3,
        "task": "language_table",
        "robot": "franka",
        "policy": "oracle",
        "strategy": {
            "name": "contrast_set",
            "perturbations": ["mask_all", "SB2", {"name": "unplugged", "severity": 5}],
        },
        "test_set": {"size": 1},
        "cameras": [{"name": "board", "width": 64, "height": 48}],
    }
    file.write_text(yaml.safe_dump(content))
    return str(file)


def printed(*arguments):
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as output:
        patch.setenv("COLUMNS", "80")
        perturbations(*arguments)
    return output.getvalue()


def test_the_list_has_every_perturbation_with_what_a_sound_policy_does_in_80_columns():
    said = printed(None, 0, None)
    lines = said.splitlines()
    plausible = lines.index(next(line for line in lines if line.startswith("plausible")))
    implausible = lines.index(next(line for line in lines if line.startswith("implausible")))
    for name in perturbation_names():
        made = load_perturbation(name, "test", "")
        number, line = next((n, text) for n, text in enumerate(lines) if text.split()[:1] == [made.name])
        assert line.split()[1] == made.axes
        assert (plausible < number < implausible) == made.plausible
    assert not any("…" in line for line in lines)
    # Who comes from seed 004 looks for the paper's word.
    assert {
        name for name in perturbation_names() if "descriptor" in load_perturbation(name, "test", "").description
    } == {
        *("pictures", "specific", "vague"),
    }


def test_a_session_s_perturbations_are_shown_on_an_instance_as_text_and_picture(session, tmp_path):
    picture = tmp_path / "shown.png"
    said = printed(session, 1, picture)
    assert "“”" in said and "moved " in said and "images are black" in said
    assert cv2.imread(str(picture)).shape[2] == 3
    assert printed(session, 1, None).startswith(said[:200]), "the same seed, the same instance"


def test_of_a_composition_the_change_of_each_part_is_shown(session, tmp_path):
    content = yaml.safe_load(Path(session).read_text())
    content["strategy"]["perturbations"] = [["mask_all", "extreme"]]
    Path(session).write_text(yaml.safe_dump(content))
    said = " ".join(printed(session, 1, tmp_path / "shown.png").split())
    assert "extreme+mask_all" in said and "LSB" in said and "should fail" in said
    assert "moved " in said and "became ''" in said


def test_things_that_are_shown_in_place_of_words_are_drawn_beside_what_the_cameras_see(session, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(shown, "draw_shown", lambda rows, path: drawn.extend(rows))
    content = yaml.safe_load(Path(session).read_text())
    content["strategy"]["perturbations"] = ["pictures", "mask_all"]
    Path(session).write_text(yaml.safe_dump(content))
    said = " ".join(printed(session, 1, tmp_path / "shown.png").replace("│", " ").split())
    assert "has pictures in place of" in said
    (base, text, cameras), (name, same, pictures) = drawn
    assert (base, list(cameras), name, text) == ("base", ["board"], "pictures", same)
    assert pictures and all(words in text for words in pictures)
    assert {picture.shape for picture in pictures.values()} == {(32, 32, 3)}


def test_a_picture_needs_a_session(tmp_path):
    with pytest.raises(ConfigurationError, match=r"--image.*expected a session, whose robot has the cameras"):
        printed(None, 0, tmp_path / "shown.png")
