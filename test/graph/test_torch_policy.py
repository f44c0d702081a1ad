"""Sessions over a real ROS graph with networks of PyTorch, from the files that their authors would write."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import Workplace, finished
from torch_networks import PUSHING, examples, pushing, write_exported, write_policy

from robocontrast_ros.domain import Outcome


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def test_an_exported_network_is_evaluated(place):
    write_exported(place.folder / "pushing.pt2", pushing(), tuple(examples().values()))
    session = place.session(test_set={"size": 1}, task=place.short_task(20))
    fits = write_policy(place.folder / "pushing.yaml", "pushing.pt2", "export", **PUSHING)
    code, output = place.run("evaluate", session, "--policy", fits)
    assert code == 0, output
    (trial,) = finished(place.runs[0])
    assert (trial.result.outcome, trial.result.steps) == (Outcome.FAILURE, 20)
    assert trial.observed.instruction == trial.trial.instance.instruction.text
    assert len(trial.observed.image_digest) == 64
