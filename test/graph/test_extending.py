"""The table of docs/extending_package.md: its scene backend in a graph on the wall clock, without a simulator."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

import extending_page
from robocontrast_ros.msg import Judgement
from robocontrast_ros.srv import JudgeTrial
from session_runs import LONG_LIMITS, Workplace, finished
from spinning import spun_node
from wall_clock_line import Arm

from robocontrast_ros.robots.profile import load_profile


@pytest.mark.long
def test_a_person_who_reads_notes_sets_the_scenes_of_a_session_up(tmp_path):
    project, site = tmp_path / "project", tmp_path / "site"
    place = Workplace(tmp_path, {"PYTHONPATH": extending_page.install(project, site)["PYTHONPATH"]})
    note, read, over = tmp_path / "set_up.txt", [], threading.Event()

    def person() -> None:
        while not over.wait(0.05):
            if note.exists() and (text := note.read_text()):
                read.append(text)
                note.unlink()

    def judge(request: JudgeTrial.Request, response: JudgeTrial.Response) -> JudgeTrial.Response:
        response.judgement = Judgement(success=True, progress=0.75, by="a person")
        return response

    arm = Arm(SimpleNamespace(robot=load_profile(project / "own_lab" / "arm.yaml")), lambda tool: None)
    reader = threading.Thread(target=person)
    reader.start()
    try:
        with spun_node("person") as node:
            node.create_service(JudgeTrial, "judge/judge_trial", judge)
            limits = [w for key, value in LONG_LIMITS.items() for w in ("--set", f"watchdog.{key}={value}")]
            code, output = place.run("evaluate", site / "own_lab" / "table.yaml", "--set", "max_trials=1", *limits)
    finally:
        over.set()
        reader.join()
        arm.close()
    assert code == 0, output
    (run,) = place.runs
    assert "simulator" not in {path.stem for path in (run / "logs").iterdir()}
    (trial,) = finished(run)
    assert (trial.result.scores["success"], trial.result.scores["progress"]) == (1.0, 0.75)
    x, y = trial.trial.instance.scene["moon"].pose.xy
    assert read[0] == f"moon: x {x:.3f} m, y {y:.3f} m, turned by 0.00 rad"
    code, output = place.run("score", run)
    assert code == 0, output
