"""Names of a session's nodes and processes, and arguments of their executables: imports nothing."""

from __future__ import annotations

LEADER = "episode_manager"
"""The node whose end is the session's end."""

WATCHDOG = "watchdog"
"""The node that stops the robot, on the wall clock alone."""

OPERATOR = "operator"
"""The node with the console of the person at the robot."""

CONTAINER = "container"
"""The process with the nodes that may be composed."""

PRACTICE = "practice"
"""Namespace of the nodes of a practised session."""

NO_SHARED_MEMORY = "--no-shared-memory"
"""Argument of an executable whose process shares no memory with others."""

NO_LOG_FILES = ["--ros-args", "--disable-external-lib-logs"]
"""ROS's arguments against a log in the home directory; without them it fails if it cannot write one."""
