"""Request to a node of a running session, in a process of its own that needs no ros2cli."""

from __future__ import annotations

import os
from collections.abc import Callable

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robocontrast_ros.graph.names import NO_LOG_FILES
from robocontrast_ros.nodes.runtime.channel import Channel, NoAnswer
from robocontrast_ros.system.starting import end_at_once

TIMEOUT = 20.0
"""Time limit of finding the node, and of its answer [s]."""


def run_request(name: str, ask: Callable[[Channel], tuple[bool, str]]) -> None:
    """Print the answer, and exit with code 0 for yes, 1 for no, 3 for no answer.

    Args:
        name: name of the node that asks; the process's number is added.
        ask: makes its clients, starts the channel, and returns whether the answer is yes, and its words.
    """
    rclpy.init(args=NO_LOG_FILES, signal_handler_options=SignalHandlerOptions.NO)
    owner = Node(f"{name}_{os.getpid()}", enable_rosout=False, start_parameter_services=False)
    channel = Channel(owner)
    try:
        accepted, said = ask(channel)
    except NoAnswer as error:
        print(f"{error}; perhaps the session has ended")
        code = 3
    else:
        print(said)
        code = 0 if accepted else 1
    channel.close()
    owner.destroy_node()
    rclpy.try_shutdown()
    end_at_once(code)
