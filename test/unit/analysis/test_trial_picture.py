"""The picture of a trial, drawn from its bag."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from trial_bags import record_trial

from robocontrast_ros.analysis.figures.trial_picture import draw_trial, read_images
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri
from robocontrast_ros.domain import Trial


def test_a_trial_without_images_or_result_is_drawn_from_above(tmp_path):
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    instance = task.sample(np.random.default_rng(0), "x0")
    trial = Trial(0, instance.instance_id, "base", 0, instance, 0)
    record_trial(tmp_path / "bag", task, trial, np.random.default_rng(0), with_result=False)
    assert read_images(tmp_path / "bag") == []
    draw_trial(tmp_path / "bag", tmp_path / "trial.png")
    colours = np.unique(np.asarray(Image.open(tmp_path / "trial.png").convert("RGB")).reshape(-1, 3), axis=0)
    (tmp_path / "folder.png").mkdir()
    for name in ("x.notanimage", "nowhere/x.png", "folder.png", "x"):
        with pytest.raises(ConfigurationError, match=r"`--to`: got .* expected a \.png file that can be written"):
            draw_trial(tmp_path / "bag", tmp_path / name)
    assert (0, 114, 178) in {tuple(map(int, colour)) for colour in colours}, "the tool's path is there"


def test_what_is_no_bag_is_refused_by_name(tmp_path):
    with pytest.raises(BagError, match="nothing"):
        draw_trial(tmp_path / "nothing", tmp_path / "trial.png")
