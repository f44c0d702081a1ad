"""Request to a running session's watchdog for a stop, or its release: the process of `robocontrast stop`."""

from __future__ import annotations

import sys

from std_srvs.srv import Trigger

from robocontrast_ros.nodes.request import TIMEOUT, run_request
from robocontrast_ros.nodes.runtime.channel import Channel, DiscoveryProbe, call, first_call, wait_for
from robocontrast_ros.srv import ReleaseStop


def main() -> None:
    """Print the watchdog's answer.

    The arguments are the full name of the watchdog's node, and `stop`, or `release` with the person's name and a note.
    The exit code is 0 when the robot is stopped, or released, 1 when the release is refused, 3 without an answer.
    """
    watchdog, what, *words = sys.argv[1:]
    ask = _stop if what == "stop" else _release
    run_request("stop_request", lambda channel: ask(channel, watchdog, *words))


def _stop(channel: Channel, watchdog: str) -> tuple[bool, str]:
    client = channel.node.create_client(Trigger, f"{watchdog}/stop")
    channel.start()
    wait_for(client, TIMEOUT)
    # The request may come twice: an early stop is better.
    answer = first_call(client, Trigger.Request(), TIMEOUT)
    return answer.success, answer.message


def _release(channel: Channel, watchdog: str, by: str, note: str) -> tuple[bool, str]:
    client = channel.node.create_client(ReleaseStop, f"{watchdog}/release")
    # A second release would be refused, because nothing is stopped.
    probe = DiscoveryProbe(channel.node, watchdog)
    channel.start()
    wait_for(client, TIMEOUT)
    probe.wait(TIMEOUT)
    answer = call(client, ReleaseStop.Request(by=by, note=note), TIMEOUT)
    return answer.accepted, answer.detail
