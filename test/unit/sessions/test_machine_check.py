"""A real robot whose driver's interfaces are not installed is refused before there is a run folder."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest
from session_runs import Workplace
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.robots.drivers import FrankaRecovery, GripperAction, driver_packages
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.sessions import machine_check

CHECKOUT = Path(__file__).resolve().parents[3]
BY_HAND = {"backend": "operator", "pacing": "wall_clock", "judge": "person"}


def needed(robot: str, port: str = "", **driver: object) -> set[str]:
    profile = load_profile(robot)
    return set(driver_packages(port or profile.port, profile.driver and replace(profile.driver, **driver)))


def test_a_port_needs_what_the_robots_file_says_of_its_driver():
    assert needed("franka") == needed("locobot_real") == needed("ur5e_real", "topics") == set()
    assert needed("ur5e_real") == {"control_msgs", "controller_manager_msgs", "ur_dashboard_msgs"}
    assert needed("ur5e_real", "streaming") == {"controller_manager_msgs", "ur_dashboard_msgs"}
    assert needed("ur5e_real", "moveit_servo") == {"moveit_msgs", "ur_dashboard_msgs"}
    assert needed("ur5e_real", "streaming", controller_manager="", universal_robots=None) == set()
    hand = GripperAction(type="gripper_command", action="gripper_cmd")
    assert "control_msgs" in needed("ur5e_real", "streaming", hand=hand)
    assert needed("franka_real") == {"control_msgs", "controller_manager_msgs"}
    assert "franka_msgs" in needed("franka_real", franka=FrankaRecovery(recover=True))
    assert "franka_msgs" in needed("franka_hand_real")


def test_set_up_builds_for_a_robot_what_the_ports_ask_for():
    spec = importlib.util.spec_from_file_location("setup_environment", CHECKOUT / "scripts" / "setup_environment.py")
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    files = (CHECKOUT / "robocontrast_ros" / "nodes" / "rollout" / "drivers").glob("*.py")
    asked = {name for path in files for name in re.findall(r'interface\(f?"(\w+)/', path.read_text())}
    robots = ("ur5e_real", "franka_hand_real")
    known = set().union(
        needed("franka_real", franka=FrankaRecovery(recover=True)),
        *(needed(robot, port) for robot in robots for port in ("follow_joint_trajectory", "moveit_servo")),
    )
    assert set(setup.DRIVERS) == asked - {"std_srvs"} == known


@pytest.mark.parametrize("robot", ["ur5e_real", "franka_hand_real"])
def test_one_line_says_what_is_absent_and_what_brings_it(tmp_path, monkeypatch, robot):
    absent = {"controller_manager_msgs", "ur_dashboard_msgs", "franka_msgs"}
    monkeypatch.setattr(machine_check, "find_spec", lambda name: None if name in absent else util.find_spec(name))
    place = Workplace(tmp_path)
    session = place.session(robot=robot, policy="random", world=BY_HAND, cameras=[])
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["evaluate", str(session)])
    assert result.exit_code == 2, result.output
    (line,) = (line for line in result.stderr.splitlines() if "interfaces" in line)
    names = ", ".join(sorted(needed(robot) & absent, reverse=True))
    assert f"{robot}.yaml: `driver." in line and f"these are not: {names}. Run `make setup PURPOSE=robot`" in line
    assert place.runs == []
