"""A simulator as others write them: right, and unlike ours in all that the standard leaves open.

States are stamped 0 and given one by one, entities are named by paths, models are SDF files under a path of its own,
and the clock and the joints are published ten times in a control period. With ROBOT_STAYS in the environment it has no
reset of states, so that an arm stays where it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from simulation_interfaces.msg import SimulatorFeatures
from simulation_interfaces.srv import SpawnEntity

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.simulation_version import resource_of
from robocontrast_ros.nodes.simulator_node import Simulator

TASK = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
ROBOT, ARM, PATH = "franka", "/Robots/arm", "/World/"
WORLD = {"entities": {"*": f"{PATH}{{name}}", ROBOT: ARM}, "resources": {"*": "/models/{name}.sdf"}}
"""Keys of a session's `world` that name things as this simulator does."""
EVERY = 5
"""Physics steps between two messages of the clock and the joints."""


class StrangeSimulator(Simulator):
    """Our simulator, with other manners."""

    def _serve(self, kind: type, name: str, answer: Any) -> None:
        if name == "get_entities_states":
            return

        def strange(request: Any, response: Any) -> Any:
            for field in ("entity", "name"):
                if hasattr(request, field):
                    setattr(request, field, _ours(getattr(request, field)))
            if kind is SpawnEntity:
                resource = resource_of(request)
                resource.uri = TASK.scenes.models[PurePosixPath(resource.uri).stem]
            response = answer(request, response)
            if hasattr(response, "entities"):
                response.entities = [_theirs(entity) for entity in response.entities]
            if hasattr(response, "state") and hasattr(response.state, "header"):
                response.state.header.stamp.sec = response.state.header.stamp.nanosec = 0
            if hasattr(response, "features"):
                response.features.spawn_formats = ["SDF"]
                if "ROBOT_STAYS" in os.environ:
                    response.features.features.remove(SimulatorFeatures.SIMULATION_RESET_STATE)
            return response

        super()._serve(kind, name, strange)

    def _step_simulation(self, request: Any, response: Any) -> None:
        left = request.steps
        while left:
            request.steps = min(EVERY, left)
            left -= request.steps
            super()._step_simulation(request, response)


def start(
    session: Any, parameters: Path, name: str, namespace: str = "", python: str = sys.executable, **variables: str
) -> subprocess.Popen[bytes]:
    """Start it, none of a session's nodes, with the session's world; it has further environment variables."""
    scenes = session.task.scenes
    given = {
        "robot": str(session.robot_file),
        "world": scenes.world,
        "start_position": list(scenes.start_position),
        "physics_step": scenes.physics_step,
    }
    parameters.write_text(yaml.safe_dump({"/**": {"ros__parameters": given}}))
    options = ["--ros-args", "-r", f"__node:={name}", "-r", f"__ns:=/{namespace}", "--params-file", str(parameters)]
    return subprocess.Popen([python, __file__, *options], env={**os.environ, **variables})


def _ours(name: str) -> str:
    return ROBOT if name == ARM else name.removeprefix(PATH)


def _theirs(name: str) -> str:
    return ARM if name == ROBOT else f"{PATH}{name}"


if __name__ == "__main__":
    run_node(StrangeSimulator)
