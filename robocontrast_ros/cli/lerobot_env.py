"""`robocontrast lerobot-env`: a session's episodes for lerobot-eval, or any client, over a socket."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import sys
import threading
from multiprocessing import forkserver
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.options import takes_overrides
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.sessions.overrides import Overrides

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

    from robocontrast_ros.sessions.stepping import Cases, Json, Wire


@takes_overrides("robot", "policy", "seed", "size")
def lerobot_env(
    session: Annotated[str, typer.Argument(help="Name in config/sessions/, or path of a .yaml file.")],
    *,
    overrides: Overrides,
    host: Annotated[str, typer.Option(help="Address to listen on. There is no password.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.", min=0, max=65535)] = 5757,
) -> None:
    """Serve a session's episodes as an environment for lerobot-eval, until Ctrl-C.

    The client takes the place of the session's policy, with its action space and cameras. Every connection has a world
    and a process of its own. lerobot-eval needs the package of integrations/lerobot_env_robocontrast.
    """
    from robocontrast_ros.sessions.resolving import resolve
    from robocontrast_ros.sessions.stepping import described, draw_cases

    resolved = resolve(session, overrides)
    console = Console()
    cases = draw_cases(resolved)
    description = described(resolved, cases)
    for instance, reason in cases.left_out:
        console.say(f"{instance} is left out: {reason}", "note:", "yellow")
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        expected = f"a free port of {host}"
        raise ConfigurationError("command line", "--port", port, expected, f"{error.strerror}.") from None
    with listener:
        names = ", ".join(f"{number} {name}" for number, name in enumerate(cases.names))
        console.say(f"{len(cases.instances)} test instances; cases: {names}")
        console.say(f"listening on {host}:{listener.getsockname()[1]}")
        sys.stdout.flush()
        forking = _forking()
        while True:
            connection, _ = listener.accept()
            # Small messages go both ways in turn: none may wait for more to send.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            arguments = forking, connection, session, overrides, cases, description
            threading.Thread(target=_serve, args=arguments, daemon=True).start()


def _forking() -> ForkServerContext:
    """Return the context whose processes fork from one that has imported everything, and runs nothing else."""
    from robocontrast_ros.system.numerics import pinned

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["robocontrast_ros.sessions.stepping"])
    with pinned():
        forkserver.ensure_running()
    return context


def _serve(
    forking: ForkServerContext,
    connection: socket.socket,
    session: str,
    overrides: Overrides,
    cases: Cases,
    description: Json,
) -> None:
    """Answer what needs no world; the first other request goes, with the connection, to a process of its own."""
    from robocontrast_ros.sessions.stepping import ConnectionLost, RequestError, Wire, answer_of

    wire = Wire(connection)
    with connection:
        while True:
            try:
                request = wire.request()
                if request["request"] in ("reset", "step"):
                    break
                if request["request"] == "close":
                    wire.answer({})
                    return
                wire.answer(answer_of(request, description))
            except RequestError as error:
                wire.answer({"error": str(error)})
            except ConnectionLost:
                return
        world = forking.Process(target=_run_world, args=(wire, session, overrides, cases, request), daemon=True)
        world.start()
    world.join()


def _run_world(wire: Wire, session: str, overrides: Overrides, cases: Cases, first: Json) -> None:
    """Be the process of a world."""
    from robocontrast_ros.sessions.resolving import resolve
    from robocontrast_ros.sessions.stepping import SteppedWorld
    from robocontrast_ros.system.processes import die_with_parent

    die_with_parent()
    # Ctrl-C is for the server, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        SteppedWorld(resolve(session, overrides), cases, wire).serve(first)
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
