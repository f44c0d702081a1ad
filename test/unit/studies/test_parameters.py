"""What a study's file may ask for."""

from __future__ import annotations

import pytest
import yaml

from robocontrast_ros.configuration import ConfigurationError, read_yaml, resolve_uri
from robocontrast_ros.studies.parameters import load_study
from robocontrast_ros.tasks.language_table import LanguageTable


class GradedTask(LanguageTable):
    """A task whose metric is between 1 and 5."""

    scores = ("spl", "own_scores:Grade")
    metric = "grade"


def test_a_metric_that_is_not_between_0_and_1_is_refused_by_name(tmp_path):
    config = "package://robocontrast_ros/config"
    task = read_yaml(resolve_uri(f"{config}/tasks/language_table.yaml"))
    study = read_yaml(resolve_uri(f"{config}/studies/language_table_small.yaml"))
    (tmp_path / "task.yaml").write_text(yaml.safe_dump({**task, "task": f"{__name__}:GradedTask"}))
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({**study, "task": "./task.yaml"}))
    with pytest.raises(ConfigurationError, match=r"whose metric is between 0 and 1.*grade is not"):
        load_study(tmp_path / "study.yaml")
