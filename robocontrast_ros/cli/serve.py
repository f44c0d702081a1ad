"""`robocontrast serve`: only the policy server, for a session on another machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.options import NamespaceOption
from robocontrast_ros.configuration import ConfigurationError, find_configured
from robocontrast_ros.configuration.files import find_file


def serve(
    policy: Annotated[str, typer.Argument(help="Name in config/policies/, or path of a .yaml file.")],
    domain: Annotated[int | None, typer.Option(help="ROS domain; ROS_DOMAIN_ID, or 0, when left out.")] = None,
    timeout: Annotated[float, typer.Option(help="Time limit of each answer of the policy [s].")] = 10.0,
    load_timeout: Annotated[
        float, typer.Option(help="Time limit of loading the policy, and of warming it up [s].")
    ] = 120.0,
    namespace: NamespaceOption = "",
) -> None:
    """Run only the policy server, for instance on a machine with a GPU, for a session elsewhere.

    Ctrl-C ends it.
    """
    from robocontrast_ros.cli.processes import in_namespace, node_command
    from robocontrast_ros.graph.description import checked_namespace
    from robocontrast_ros.graph.environment import node_environment
    from robocontrast_ros.graph.ros_domain import LARGEST_DOMAIN, check_ros, given_domain

    file = find_file("policies", policy, "command line", "policy", Path.cwd())
    find_configured("policies", file)
    number = (given_domain() or 0) if domain is None else domain
    if not 0 <= number <= LARGEST_DOMAIN:
        raise ConfigurationError("command line", "--domain", number, f"0 to {LARGEST_DOMAIN}")
    place = checked_namespace(namespace)
    environment = node_environment(number, elsewhere=True)
    check_ros(environment)
    option = f" --namespace {place}" if place else ""
    print(
        f"ROS domain {number}. When the policy serves, start the session, here or on a machine of the same network:\n"
        f"  ROS_DOMAIN_ID={number} robocontrast evaluate SESSION --policy-server external{option}",
        flush=True,
    )
    # A string in JSON is one in YAML, which ROS reads.
    parameters = f"policy:={json.dumps(str(file))}", f"timeout:={timeout}", f"load_timeout:={load_timeout}"
    words = [*in_namespace(place), *(word for parameter in parameters for word in ("-p", parameter))]
    # The node's log is the output of this command.
    environment.setdefault("RCUTILS_CONSOLE_OUTPUT_FORMAT", "{severity}: {message}")
    os.execve(sys.executable, node_command("policy_server", *words), environment)
