"""What the policy server adds to a policy that does nothing; beside it openpi's websocket protocol doing the same.

Ours is the `policy_server` node in a process of its own and a client that does what the rollout does for one answer:
from camera messages that it has received to an array of actions, by the service `~/act`. The other is openpi's
protocol as openpi's own server and client speak it (websockets without compression, msgpack with arrays as bytes):
from camera arrays to an array of actions. All policies get the same pixels and joint positions, check their shapes,
and answer with zeros. One call is timed on the client, with all packing and unpacking on both sides. They take turns,
block by block, so that other load on the machine affects all of them.

    python benchmark/policy_server.py        (--cameras 1 3 --json numbers.json)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import websockets
import websockets.asyncio.server
import websockets.sync.client
import yaml
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from robocontrast_ros.cli.processes import node_environment, start_nodes
from robocontrast_ros.domain import Pose
from robocontrast_ros.graph.description import GraphNode, NodeProcess
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

SIZE = 224
"""Columns and rows of a camera's image [pixel]."""

CHUNK = (10, 7)
"""Shape of every answer: ten actions of seven numbers."""

JOINTS = 8
"""Joint positions in an observation."""

TIMEOUT = 30.0
"""Limit of anything that is waited for [s]."""


class Zeros:
    """A policy that receives its cameras' images and joints, and answers with zeros: for both servers."""

    def __init__(self, cameras: tuple[str, ...]) -> None:
        """Take the names of the cameras."""
        self._cameras = cameras

    @classmethod
    def from_file(cls, path: Path) -> Zeros:
        """Read the names of the cameras."""
        return cls(tuple(yaml.safe_load(path.read_text())["cameras"]))

    def describe(self) -> PolicyDescription:
        """Ask for the cameras."""
        return PolicyDescription("zeros", "joint_positions", CHUNK[1], CHUNK[0], cameras=self._cameras)

    def reset(self, instruction: str, seed: int) -> None:
        """Nothing to do."""

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Stay."""
        return self.answer(observation.images, len(observation.joint_positions))

    def answer(self, images: dict[str, NDArray[np.uint8]], joints: int) -> NDArray[np.float64]:
        """Check that everything arrived, and stay."""
        if {images[name].shape for name in self._cameras} != {(SIZE, SIZE, 3)} or joints != JOINTS:
            raise ValueError(f"got {[image.shape for image in images.values()]} and {joints} joints")
        return np.zeros(CHUNK)


def pack_array(value: Any) -> Any:
    """Return an array as openpi's msgpack_numpy sends it, copied as there; to be msgpack's ``default``."""
    if isinstance(value, np.ndarray):
        return {
            b"__ndarray__": True,
            b"data": value.tobytes(),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    raise TypeError(f"cannot send {type(value).__name__}")


def unpack_array(value: dict[Any, Any]) -> Any:
    """Return the array that openpi's msgpack_numpy sent; to be msgpack's ``object_hook``."""
    if b"__ndarray__" in value:
        return np.ndarray(buffer=value[b"data"], dtype=np.dtype(value[b"dtype"]), shape=value[b"shape"])
    return value


def unpack(message: str | bytes) -> Any:
    """Return what an openpi message says."""
    return msgpack.unpackb(message, object_hook=unpack_array)


def camera_names(count: int) -> tuple[str, ...]:
    """Return names for so many cameras."""
    return tuple(f"camera_{number}" for number in range(count))


def pixels_of(count: int) -> dict[str, NDArray[np.uint8]]:
    """Return an image for each camera, the same at every call."""
    generator = np.random.default_rng(0)
    return {name: generator.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8) for name in camera_names(count)}


def serve_openpi(cameras: int) -> None:
    """Serve the policy as openpi's WebsocketPolicyServer does; print the port."""
    policy = Zeros(camera_names(cameras))

    async def handle(socket: websockets.asyncio.server.ServerConnection) -> None:
        packer = msgpack.Packer(default=pack_array)
        await socket.send(packer.pack({}))
        async for message in socket:
            observation = unpack(message)
            began = time.monotonic()
            images = {name: observation[f"observation/{name}"] for name in camera_names(cameras)}
            answer = {"actions": policy.answer(images, len(observation["observation/state"]))}
            answer["server_timing"] = {"infer_ms": 1e3 * (time.monotonic() - began)}
            await socket.send(packer.pack(answer))

    async def run() -> None:
        async with websockets.asyncio.server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()

    asyncio.run(run())


def ask_openpi(cameras: int, port: int) -> None:
    """Call the openpi server as openpi's WebsocketClientPolicy does, when asked to."""
    images, state = pixels_of(cameras), np.zeros(JOINTS)
    packer = msgpack.Packer(default=pack_array)
    with websockets.sync.client.connect(f"ws://127.0.0.1:{port}", compression=None, max_size=None) as connection:
        unpack(connection.recv())

        def act() -> NDArray[np.float64]:
            observation = {f"observation/{name}": image for name, image in images.items()}
            observation |= {"observation/state": state, "prompt": "push the block"}
            connection.send(packer.pack(observation))
            return unpack(connection.recv())["actions"]

        answer_blocks(act)


def ask_ours(cameras: int) -> None:
    """Call the policy server as the rollout does, as often as asked."""
    import rclpy
    from robocontrast_ros.srv import Act, ResetPolicy

    from robocontrast_ros.nodes.conversions.driver import array_to_image, observation_to_msg
    from robocontrast_ros.nodes.rollout.policy_client import PendingActions
    from robocontrast_ros.nodes.runtime.channel import (
        Channel,
        DiscoveryProbe,
        PendingResponse,
        call,
        wait_for,
    )

    images = {name: array_to_image(image, name, 0) for name, image in pixels_of(cameras).items()}
    names = tuple(f"joint_{number}" for number in range(JOINTS))
    rclpy.init()
    owner = rclpy.create_node("asking")
    channel = Channel(owner)
    client, reset = (
        channel.node.create_client(kind, f"policy_server/{name}")
        for kind, name in ((Act, "act"), (ResetPolicy, "reset"))
    )
    probe = DiscoveryProbe(channel.node, "policy_server")
    channel.start()
    for each in (client, reset):
        wait_for(each, TIMEOUT)
    probe.wait(TIMEOUT)
    call(reset, ResetPolicy.Request(instruction="push the block", seed=1), TIMEOUT)

    def act() -> NDArray[np.float64]:
        pose = Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
        observation = Observation(0, {}, names, (0.0,) * JOINTS, pose)
        request = Act.Request(observation=observation_to_msg(observation, "world", images))
        return PendingActions(PendingResponse(client, request), 0.0, TIMEOUT).result().actions

    answer_blocks(act)
    channel.close()
    owner.destroy_node()
    rclpy.shutdown()


def answer_blocks(act: Callable[[], NDArray[np.float64]]) -> None:
    """Read a number of calls from each line of the input, make them, and print their times [s] as a list."""
    print("[]", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            began = time.perf_counter()
            actions = act()
            times.append(time.perf_counter() - began)
            if actions.shape != CHUNK:
                raise ValueError(f"got actions of shape {actions.shape}")
        print(json.dumps(times), flush=True)


class Asking:
    """A client in a process of its own."""

    def __init__(self, role: list[str], environment: dict[str, str]) -> None:
        """Start it, and wait until it is ready."""
        self._process = start(role, environment)
        self._read()

    def block(self, calls: int) -> list[float]:
        """Return the times of so many calls [s]."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{calls}\n")
        self._process.stdin.flush()
        return self._read()

    def stop(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        stop(self._process)

    def _read(self) -> list[float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a client ended before it answered")
        return json.loads(line)


def start(role: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start this file in another role."""
    return subprocess.Popen(
        [sys.executable, __file__, *role],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def stop(process: subprocess.Popen[str]) -> None:
    """Wait until a process ends; kill it where it does not."""
    try:
        process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def compare(cameras: int, blocks: int, calls: int, folder: Path) -> dict[str, list[float]]:
    """Return the times of calls [s] of both, with so many cameras."""
    policy = folder / f"zeros_{cameras}.yaml"
    policy.write_text(yaml.safe_dump({"policy": "policy_server:Zeros", "cameras": list(camera_names(cameras))}))
    # The policy server imports the policy from this file.
    here = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys(filter(None, [here, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
    )
    with ExitStack() as ending:
        domain = Domain()
        ending.callback(domain.close)
        environment = node_environment(domain.number)
        node = NodeProcess((GraphNode("policy_server", {"policy": str(policy)}),))
        ours = start_nodes([node], folder / "parameters", folder / "logs", domain.number)
        ending.callback(ours.stop)
        openpi = start(["--serve-openpi", str(cameras)], environment)
        ending.callback(stop, openpi)
        ending.callback(openpi.terminate)
        assert openpi.stdout is not None
        port = openpi.stdout.readline().strip()
        clients = {
            "ours": Asking(["--ask-ours", str(cameras)], environment),
            "openpi": Asking(["--ask-openpi", str(cameras), port], environment),
        }
        for client in clients.values():
            ending.callback(client.stop)
            client.block(calls)
        times: dict[str, list[float]] = {name: [] for name in clients}
        for block in range(blocks):
            turn = list(clients.items())
            for name, client in turn if block % 2 else reversed(turn):
                times[name] += client.block(calls)
    return times


def main() -> None:
    """Measure, and print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cameras", type=int, nargs="+", default=[1, 3], help="how many, one after the other")
    parser.add_argument("--blocks", type=int, default=20, help="turns of each side")
    parser.add_argument("--calls", type=int, default=50, help="calls in a turn, and for warm-up")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    roles = parser.add_mutually_exclusive_group()
    roles.add_argument("--serve-openpi", type=int, help=argparse.SUPPRESS)
    roles.add_argument("--ask-openpi", type=int, nargs=2, help=argparse.SUPPRESS)
    roles.add_argument("--ask-ours", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve_openpi:
        serve_openpi(arguments.serve_openpi)
    elif arguments.ask_openpi:
        ask_openpi(*arguments.ask_openpi)
    elif arguments.ask_ours:
        ask_ours(arguments.ask_ours)
    else:
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            times = {
                cameras: compare(cameras, arguments.blocks, arguments.calls, Path(folder))
                for cameras in arguments.cameras
            }
        report(Console(), times, load, arguments.json)


def report(console: Console, times: dict[int, dict[str, list[float]]], load: float, file: Path | None) -> None:
    """Print what was measured."""
    calls = sum(len(side) for sides in times.values() for side in sides.values())
    table = Table(
        r"one answer \[ms]",
        "median",
        "p95",
        "fastest",
        title=f"{calls} calls, {SIZE}x{SIZE} cameras, policy of zeros",
    )
    numbers: dict[str, Any] = {
        "machine": {
            "cpus": os.cpu_count(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "websockets": websockets.__version__,
        },
        "load_before": load,
        "calls": calls,
    }
    for cameras, sides in times.items():
        for name, side in sides.items():
            median, p95, fastest = (1e3 * float(np.percentile(side, q)) for q in (50, 95, 0))
            row = f"{name}, {cameras} camera{'s' * (cameras > 1)}"
            table.add_row(row, *(f"{value:.2f}" for value in (median, p95, fastest)))
            numbers[row] = {"median_ms": median, "p95_ms": p95, "fastest_ms": fastest}
    console.print(table)
    console.print(
        f"{os.cpu_count()} processors ({platform.machine()}), Python {platform.python_version()}, websockets "
        f"{websockets.__version__}; load average before it began: {load:.1f}"
    )
    if file is not None:
        file.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
