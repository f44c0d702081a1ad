"""Sessions in the emulated laboratory: the helper who sets scenes up there, and how its process is started."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from robocontrast_ros.configuration import write_yaml
from robocontrast_ros.graph.parameters.simulator import world_parameters
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.worlds.backends import BackendFeatures, SimulatorBackend

NODE = "lab"
"""Name of the laboratory's node."""

WORLD = {"backend": "laboratory:Laboratory", "pacing": "wall_clock", "simulator": NODE}
"""The key `world` of a session there."""

PROCESS = Path(__file__).resolve().parent / "emulated_lab.py"
RATES = {"franka": 30.0, "franka_hand": 30.0, "ur5e": 500.0, "ur5e_2f85": 500.0, "locobot": 50.0}
"""Robot, also with the suffix `_real` -> rate of its driver's sensors [Hz]: joint_state_broadcaster of
franka_ros2 and of ur_robot_driver, Kobuki."""

CAMERA_RATE = 30.0
"""Of the cameras, as realsense2_camera has it [Hz]."""


class Laboratory(SimulatorBackend):
    """The helper: carries objects, brings a base to where it starts, and can always say what is where.

    The world goes on by itself and cannot be stepped by a session, cameras cannot be moved, and an arm is sent from its
    posture of rest to its start, and back, by commands.
    """

    features: ClassVar[BackendFeatures] = BackendFeatures(streams=True)


def real_robot(name: str, folder: Path) -> str:
    """Return the real robot of a simulated one: its shipped name, or for a hand the path of a file that extends that.

    No driver tells what a hand touches, and goals that the true scene decides ask for it. The helper sees it.
    """
    simulated = load_profile(name)
    if not getattr(simulated, "has_hand", False):
        return f"{name}_real"
    file = folder / f"{name}_real.yaml"
    write_yaml(file, {"extends": f"{name}_real", "contacts_topic": simulated.contacts_topic})
    return str(file)


def lab_parameters(session: ResolvedSession) -> dict[str, Any]:
    """Return the parameters of a well-behaved laboratory for a session."""
    robot: RobotProfile = session.robot
    rate = RATES.get(robot.name.removesuffix("_real"), 100.0)
    return {
        **world_parameters(session),
        # An arm is at rest there when a trial begins, and has to go to its start itself.
        "start_position": [],
        "real_time": True,
        "state_rate": rate,
        "publish_period": min(0.01, 1.0 / rate),
        "camera_period": 1.0 / CAMERA_RATE,
    }


@contextlib.contextmanager
def laboratory(
    session: ResolvedSession, folder: Path, remap: tuple[str, ...] = (), **parameters: Any
) -> Iterator[dict[str, Any]]:
    """Run the laboratory of a session; what it did is in the dictionary when it has ended.

    Args:
        session: whose robot and world it has.
        folder: for its parameters and its report.
        remap: of its topics, as `from:=to`.
        parameters: that differ from ``lab_parameters``.
    """
    report, log = folder / "lab.json", folder / "lab.log"
    given = {**lab_parameters(session), "report": str(report), **parameters}
    file = folder / "lab.yaml"
    # In a ROS parameter file an empty list has no type.
    write_yaml(file, {"/**": {"ros__parameters": {k: v for k, v in given.items() if v != []}}})
    rules = (word for rule in (f"__node:={NODE}", *remap) for word in ("-r", rule))
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, str(PROCESS), "--ros-args", *rules, "--params-file", str(file)],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    found: dict[str, Any] = {}
    try:
        yield found
    finally:
        process.terminate()
        code = process.wait(timeout=120)
    if code:
        raise AssertionError(f"the laboratory ended with {code}:\n{log.read_text()}")
    found |= json.loads(report.read_text())
