"""Run an evaluation session: the same graph that `robocontrast evaluate` starts, for `ros2 launch`."""

import os
import time

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.sessions.graph import nodes_of
from robocontrast_ros.sessions.numerics import pin
from robocontrast_ros.sessions.parameters import Overrides, resolve
from robocontrast_ros.sessions.policy_check import check_policy
from robocontrast_ros.sessions.run_folder import RunFolder

ARGUMENTS = {
    "session": "Name in config/sessions/, or path of a .yaml file.",
    "robot": "Name in config/robots/, or path; empty for the session's own.",
    "policy": "Name in config/policies/, or path; empty for the session's own.",
    "budget": "Budget K in the session's unit of cost; empty for the session's own.",
    "seed": "Seed of every random draw; empty for the session's own.",
    "max_trials": "Trials after which the session ends; empty for the session's own.",
    "policy_server": "`external` waits for a policy server that runs elsewhere; empty for the session's own.",
    "output": "Folder in which the run folder is made; empty for the session's own.",
    "resume": "Run folder of a session to go on with; the other arguments are then its own.",
}


def nodes(context):
    """Return the actions that start the session's nodes; the end of any of them ends the launch."""
    given = {name: LaunchConfiguration(name).perform(context) or None for name in ARGUMENTS}
    if given["resume"]:
        run = RunFolder.open(given["resume"])
        session = run.resolve()
    else:
        number = {"budget": float, "seed": int, "max_trials": int}
        overrides = {
            k: number.get(k, str)(v) for k, v in given.items() if v and k not in ("session", "resume")
        }
        session = resolve(given["session"], Overrides(**overrides))
        run = RunFolder.create(session, time.time())
    if session.parameters.fast:
        raise ConfigurationError(
            str(session.source),
            "fast",
            True,
            "false, for a session that is launched as a graph of nodes",
            "Run a fast one with: robocontrast evaluate.",
        )
    check_policy(session)
    folder = run.parameters / "nodes"
    folder.mkdir(exist_ok=True)
    pins = pin(dict(os.environ))
    return [
        Node(
            package="robocontrast_ros",
            executable=node.name,
            name=node.name,
            parameters=[str(node.write_parameters(folder))],
            additional_env=pins,
            output="screen",
            on_exit=Shutdown(reason=f"{node.name} ended"),
        )
        for node in nodes_of(session, run, bool(given["resume"]))
    ]


def generate_launch_description():
    """Declare the arguments and start the nodes of the session they name."""
    defaults = {"session": "language_table_demo"}
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=defaults.get(name, ""), description=description)
                for name, description in ARGUMENTS.items()
            ),
            OpaqueFunction(function=nodes),
        ]
    )
