"""Calls of other nodes; a missing response, or a fault in a response, is a fault of the bench."""

from __future__ import annotations

from typing import Any

from rclpy.client import Client

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.conversions.domain import fault_from_msg
from robocontrast_ros.nodes.runtime.channel import Call, call, fault_without_answer


def ask(client: Client, request: Any, lost: Fault, timeout: float) -> Any:
    """Return a service's response without a fault; else raise BenchFault, see ``answer`` and ``checked``."""
    return checked(answer(client, request, lost, timeout))


def answer(client: Client, request: Any, lost: Fault, timeout: float, calling: Call = call) -> Any:
    """Return a service's response; raise BenchFault with the fault ``lost`` if none comes within the time [s]."""
    with fault_without_answer(lost):
        return calling(client, request, timeout)


def checked(response: Any) -> Any:
    """Return a response; raise its fault, if it has one, as BenchFault."""
    fault, detail = fault_from_msg(response.fault)
    if fault is not Fault.NONE:
        raise BenchFault(fault, detail)
    return response
