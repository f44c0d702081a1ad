"""Ask a running session for another policy: the process of `robocontrast swap`, which needs no ros2cli."""

from __future__ import annotations

import os
import sys

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robocontrast_ros.nodes.runtime.channel import Channel, DiscoveryProbe, NoAnswer, call, wait_for
from robocontrast_ros.srv import SwapPolicy

TIMEOUT = 20.0
"""Limit of finding the session, and of its answer [s]."""


def main() -> None:
    """Print the session's answer.

    The arguments are the full name of the episode manager's node, and the policy. The exit code is 0 when the session
    will try the policy, 1 when it refuses, 3 when it does not answer.
    """
    manager, policy = sys.argv[1:]
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    owner = Node(f"swap_request_{os.getpid()}", enable_rosout=False, start_parameter_services=False)
    channel = Channel(owner)
    try:
        client = channel.node.create_client(SwapPolicy, f"{manager}/swap_policy")
        # A request that is sent twice would load the policy twice.
        probe = DiscoveryProbe(channel.node, manager)
        channel.start()
        wait_for(client, TIMEOUT)
        probe.wait(TIMEOUT)
        answer = call(client, SwapPolicy.Request(policy=policy), TIMEOUT)
    except NoAnswer as error:
        print(error)
        code = 3
    else:
        print(answer.detail)
        code = 0 if answer.accepted else 1
    channel.close()
    owner.destroy_node()
    rclpy.try_shutdown()
    raise SystemExit(code)
