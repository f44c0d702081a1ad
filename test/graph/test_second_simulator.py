"""A session in another physics engine over the graph, and the same one in one process: the same bits.

The set-up's proof of a simulator of others passes, or there would be no trial.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")
pytest.importorskip("dartpy", reason="dartpy has no wheel for this Python")

from session_runs import Workplace, events_of, finished, scores

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.runs.events import TrialVoid

ROBOT = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")


@pytest.mark.long
def test_a_session_in_another_engine_is_proven_solved_and_the_same_with_and_without_ros(tmp_path):
    place = Workplace(tmp_path)
    session = place.session(world={"backend": "dart"}, cameras=None, test_set={"size": 1})
    for arguments in ((), ("--fast",)):
        code, output = place.run("evaluate", session, *arguments)
        assert code == 0, output
    graph, fast = place.runs
    assert [event.result.success for event in finished(graph)] == [1.0]
    assert not [event for event in events_of(graph) if isinstance(event, TrialVoid)]
    assert scores(graph) == scores(fast)
    assert finished(graph)[0].result.final_scene == finished(fast)[0].result.final_scene
    assert "second_simulator" in {path.stem for path in (graph / "logs").iterdir()}
    assert {"world_model.sdf", "franka.sdf"} <= {path.name for path in (graph / "parameters" / "models").iterdir()}


def test_a_simulator_without_models_ends_with_the_cure(tmp_path):
    given = tmp_path / "parameters.yaml"
    given.write_text(f"/**: {{ros__parameters: {{robot: {ROBOT}, models: {tmp_path}}}}}\n")
    command = [sys.executable, "-m", "robocontrast_ros.nodes.second_simulator_node"]
    done = subprocess.run(
        [*command, "--ros-args", "--params-file", str(given)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "robocontrast export TASK --robot franka --format sdf" in done.stdout + done.stderr
