"""Request to a running session for another policy: the process of `robocontrast swap`, which needs no ros2cli."""

from __future__ import annotations

import sys

from robocontrast_ros.nodes.request import TIMEOUT, run_request
from robocontrast_ros.nodes.runtime.channel import Channel, DiscoveryProbe, call, wait_for
from robocontrast_ros.srv import SwapPolicy


def main() -> None:
    """Print the session's answer.

    The arguments are the full name of the episode manager's node, and the policy. The exit code is 0 when the session
    will try the policy, 1 when it refuses, 3 when it does not answer.
    """
    manager, policy = sys.argv[1:]
    run_request("swap_request", lambda channel: _swap(channel, manager, policy))


def _swap(channel: Channel, manager: str, policy: str) -> tuple[bool, str]:
    client = channel.node.create_client(SwapPolicy, f"{manager}/swap_policy")
    # A request that is sent twice would load the policy twice.
    probe = DiscoveryProbe(channel.node, manager)
    channel.start()
    wait_for(client, TIMEOUT)
    probe.wait(TIMEOUT)
    answer = call(client, SwapPolicy.Request(policy=policy), TIMEOUT)
    return answer.accepted, answer.detail
