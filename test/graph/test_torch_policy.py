"""Sessions over a real ROS graph with networks of PyTorch, from the files that their authors would write."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import Workplace, finished
from torch_networks import PUSHING, examples, pushing, write_exported, write_policy, write_traced

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import Outcome

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def short_task(path: Path) -> Path:
    """Write a task whose trials are over after a few steps, however little the policy does."""
    task = read_yaml(resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    path.write_text(yaml.safe_dump({**task, "step_limit": 20}))
    return path


def test_an_exported_network_is_evaluated_and_a_file_that_does_not_fit_its_network_is_refused(place):
    write_exported(place.folder / "pushing.pt2", pushing(), tuple(examples().values()))
    session = place.session(test_set={"size": 1}, task=str(short_task(place.folder / "short.yaml")))
    fits = write_policy(place.folder / "pushing.yaml", "pushing.pt2", "export", **PUSHING)
    code, output = place.run("evaluate", session, "--policy", fits)
    assert code == 0, output
    (trial,) = finished(place.runs[0])
    assert (trial.result.outcome, trial.result.steps) == (Outcome.FAILURE, 20)
    assert trial.observed.instruction == trial.trial.instance.instruction.text
    assert len(trial.observed.image_digest) == 64

    inputs = {**PUSHING["input"], "instruction": "langauge"}
    write_traced(place.folder / "pushing.pt")
    wrong = write_policy(
        place.folder / "wrong.yaml", "pushing.pt", "torchscript", **{**PUSHING, "input": inputs}
    )
    code, output = place.run("evaluate", session, "--policy", wrong)
    assert code == 2, output
    said = " ".join(output.split())
    assert "`input.instruction`: got 'langauge'" in said and "Did you mean 'language'?" in said
    assert "Traceback" not in output
