"""Launch descriptions: each starts one of our processes, or includes the launch files that start them."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.events.process import SignalProcess
from launch.launch_context import LaunchContext
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription, LaunchDescriptionEntity
from robocontrast_ros.graph.description import processes_of
from robocontrast_ros.graph.fork_server import start_fork_server
from robocontrast_ros.graph.launch_arguments import ARGUMENTS, launched_session
from robocontrast_ros.graph.names import CONTAINER, LEADER, NO_SHARED_MEMORY
from robocontrast_ros.nodes.runtime.main import AT_ONCE, END_WITH_PARENT
from robocontrast_ros.system.disk import make_folder
from robocontrast_ros.system.numerics import pin
from robocontrast_ros.system.starting import FORK_SERVER

TERM_AFTER, KILL_AFTER = "40", "10"
"""Time for which launch waits for a process after SIGINT, and after SIGTERM [s].

The manager stops the robot, has the trial's bag closed and writes the journal; the others wait for it.
"""


def process_launch(executable: str) -> LaunchDescription:
    """Describe the launch of one executable of ours; its end ends the launch.

    Args:
        executable: name of the executable; `container` takes the names of its nodes among its arguments.
    """
    arguments = [
        DeclareLaunchArgument("params_file", description="ROS parameter file of the node."),
        DeclareLaunchArgument("namespace", default_value="", description=ARGUMENTS["namespace"].description),
        DeclareLaunchArgument("log_level", default_value="info", description=ARGUMENTS["log_level"].description),
        DeclareLaunchArgument(
            "arguments",
            default_value="",
            description=f"With spaces: of `{CONTAINER}` the names of its nodes; {NO_SHARED_MEMORY} for any.",
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_process, args=[executable])])


def _process(context: LaunchContext, executable: str) -> list[LaunchDescriptionEntity]:
    def given(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    end = [Shutdown(reason=f"{executable} ended")]
    if executable == LEADER:
        # No node has to go on for it any more, even if ROS has not noticed its end yet.
        end.append(EmitEvent(event=SignalProcess(signal_number=AT_ONCE, process_matcher=lambda _: True)))
    return [
        Node(
            package="robocontrast_ros",
            executable=executable,
            namespace=given("namespace"),
            parameters=[given("params_file")],
            arguments=given("arguments").split(),
            ros_arguments=["--log-level", given("log_level")],
            additional_env={**pin(dict(os.environ)), END_WITH_PARENT: str(os.getpid())},
            output="screen",
            sigterm_timeout=TERM_AFTER,
            sigkill_timeout=KILL_AFTER,
            on_exit=end,
        )
    ]


def session_launch(file: str) -> LaunchDescription:
    """Describe the launch of a session by the launch files of its processes, which are in the folder of ``file``."""
    declared = [
        DeclareLaunchArgument(name, default_value=argument.default, description=argument.description)
        for name, argument in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_session, args=[Path(file)])])


def _session(context: LaunchContext, file: Path) -> list[LaunchDescriptionEntity]:
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    # launch also passes on unknown arguments. They are mistakes, unless a user's own launch file includes ours.
    if any(Path(word).name == file.name for word in sys.argv):
        given |= {name: word for name, _, word in (text.partition(":=") for text in context.argv) if word}
    server = start_fork_server()
    if server is not None:
        atexit.register(server.close)
    launched = launched_session(given, os.environ, server)
    atexit.register(launched.close)
    if server is not None:
        os.environ[FORK_SERVER] = server.name
    folder = launched.run.parameters / "nodes"
    make_folder(folder)
    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(file.with_name(f"{process.name}.launch.py"))),
            launch_arguments={
                "params_file": str(process.write_parameters(folder, launched.domain.namespace)),
                "namespace": launched.domain.namespace,
                "log_level": launched.log_level,
                "arguments": " ".join(process.arguments),
            }.items(),
        )
        for process in processes_of(launched.session, launched.run, launched.resume)
    ]
