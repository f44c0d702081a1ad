"""ΔO: what a session says of observation filters, and what becomes of an instance."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from language_table_instances import EIGHT

from robocontrast_ros.configuration import ConfigurationError, plugin_names
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.domain import Expectation, Filter, NotApplicable, Perturbed
from robocontrast_ros.perturbations.instructions import ELSEWHERE
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.sessions.resolving import resolve


class TestContract(PerturbationContract):
    draws = 5

    def make(self):
        return load_perturbation({"name": "blur", "severity": 5}, "test", "")

    def task(self):
        return EIGHT


@pytest.mark.parametrize("name", plugin_names("observation_filters"))
def test_each_filter_is_a_perturbation_that_leaves_all_but_what_is_shown(name):
    base = EIGHT.sample(np.random.default_rng(1), "x", "block_to_block")
    made = load_perturbation(name, "test", "")
    answer = made.apply(EIGHT, base, base.scene, np.random.default_rng(2))
    assert isinstance(answer, Perturbed)
    (shown,) = answer.instance.observation
    assert (shown.name, shown.camera) == (name, "")
    assert (answer.instance.instruction, answer.instance.scene) == (base.instruction, base.scene)
    assert made.axes == "O" and made.name.startswith(name)
    assert made.plausible == (made.expectation is Expectation.KEEPS_SUCCESS)


def test_severity_and_camera_are_in_the_name_and_in_the_filter():
    made = load_perturbation({"name": "noise", "severity": 2, "camera": "board"}, "test", "")
    assert (made.name, made.symbol) == ("noise_2_board", "ΔO noise2 board")
    base = EIGHT.sample(np.random.default_rng(1), "x", "block_to_block")
    answer = made.apply(EIGHT, base, base.scene, np.random.default_rng(2))
    assert answer.instance.observation == (Filter("noise", 2, "board"),)
    other = EIGHT.sample(np.random.default_rng(3), "y", "block_to_block")
    assert made.apply(EIGHT, base, other.scene, np.random.default_rng(2)) == NotApplicable(ELSEWHERE)


def test_a_camera_that_the_session_does_not_have_is_named(tmp_path):
    file = tmp_path / "session.yaml"
    session = {
        "name": "small",
        "seed": 3,
        "task": "language_table",
        "robot": "franka",
        "policy": "oracle",
        "test_set": {"size": 1},
        "cameras": [{"name": "board", "width": 64, "height": 48}],
    }
    for camera, refused in (("board", False), ("wrist", True)):
        strategy = {"name": "contrast_set", "perturbations": [{"name": "blur", "camera": camera}]}
        file.write_text(yaml.safe_dump(session | {"strategy": strategy}))
        if not refused:
            assert resolve(file).perturbations[0].camera == camera
            continue
        with pytest.raises(ConfigurationError, match=r"camera`: got 'wrist', expected one of .*: board"):
            resolve(file)
