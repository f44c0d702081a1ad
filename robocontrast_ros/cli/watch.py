"""`robocontrast watch`: recorded trials, and those that a session records, played to Foxglove."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from foxglove import Channel
    from foxglove.websocket import ChannelView, Client

    from robocontrast_ros.bags.reader import BagMessage

LAYOUTS = "package://robocontrast_ros/config/foxglove"
LOOK = 0.5
"""Time between two looks for a new bag [s]."""

LONGEST_PAUSE = 1.0
"""Longest pause between two messages [s]: a trial that was held up is not held up again."""


def watch(
    run: Annotated[Path, typer.Argument(help="Run folder, of a session that runs or of one that ended.")],
    trial: Annotated[str, typer.Option(help="First trial to play, such as 0003; the last recorded, if left out.")] = "",
    once: Annotated[bool, typer.Option("--once", help="End after the last recorded trial; wait for no more.")] = False,
    speed: Annotated[float, typer.Option(help="Times as fast as it was.", min=0.01, max=1000.0)] = 1.0,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.", min=0, max=65535)] = 8765,
) -> None:
    """Play the trials of a run to Foxglove, each as soon as it is recorded, until Ctrl-C.

    Open Foxglove or Lichtblick, there `Open connection`, `Foxglove WebSocket`, and the address that is printed.
    The graph of a running session can be watched live with foxglove_bridge; this needs no ROS, and works in fast mode.
    """
    folder = RunFolder.open(run)
    first = _first(folder, trial, once)
    try:
        import foxglove
    except ImportError as error:
        raise ConfigurationError.not_installed("watch", str(run), "foxglove-sdk", "watch", error) from None
    try:
        watched = threading.Event()
        server = foxglove.start_server(name=folder.name, host=host, port=port, server_listener=_Listener(watched))
    except Exception as error:  # the library's own kind, which it does not export
        raise ConfigurationError("command line", "--port", port, f"a free port of {host}", f"{error}.") from None
    console = Console()
    try:
        console.print(f"Foxglove: Open connection, Foxglove WebSocket, ws://{host}:{server.port}")
        console.path("layouts", resolve_uri(LAYOUTS))
        channels: dict[tuple[str, str], Channel] = {}
        for bag in _bags(folder, first, once):
            _play(bag, channels, speed, console, watched)
    finally:
        server.stop()


class _Listener:
    """Takes note of the first subscription."""

    def __init__(self, watched: threading.Event) -> None:
        self._watched = watched

    def on_subscribe(self, client: Client, channel: ChannelView) -> None:
        """Take note of it."""
        self._watched.set()

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Ignore all else that a client does."""
        return lambda *_: None


def _whole(folder: RunFolder) -> list[Path]:
    """Return the bags that are whole, in order."""
    from robocontrast_ros.bags.reader import METADATA

    return sorted(file.parent for file in folder.bags.glob(f"*/{METADATA}"))


def _first(folder: RunFolder, trial: str, once: bool) -> str:
    """Return the name of the first bag to play: that of the trial, or the last one; empty if there is none yet.

    Raises:
        ConfigurationError: there is no bag of the trial, or none at all to play once.
    """
    present = [bag.name for bag in _whole(folder)]
    if trial and trial not in present:
        raise ConfigurationError(
            "command line", "--trial", trial, f"a recorded trial: {', '.join(present) or 'none is there'}"
        )
    if once and not present:
        raise ConfigurationError("command line", "RUN", str(folder.path), "a run with a recorded trial")
    return trial or (present[-1] if present else "")


def _bags(folder: RunFolder, first: str, once: bool) -> Iterator[Path]:
    """Yield the bags of a run from one on, then each new one when it is whole."""
    played: set[Path] = set()
    while True:
        new = [bag for bag in _whole(folder) if bag.name >= first and bag not in played]
        yield from new
        played.update(new)
        if once and not new:
            return
        time.sleep(0.0 if new else LOOK)


def _play(
    bag: Path, channels: dict[tuple[str, str], Channel], speed: float, console: Console, watched: threading.Event
) -> None:
    """Send the messages of a bag at the pace of their timestamps, once somebody watches."""
    from robocontrast_ros.bags.reader import read_bag

    content = read_bag(bag)
    console.print(f"trial {bag.name}: {len(content.messages)} messages{content.broken and f' ({content.broken})'}")
    for message in content.messages:
        _channel(message, channels)
    if not watched.is_set():
        console.print("waiting for Foxglove to open the connection and show a panel")
        watched.wait()
    last = None
    for message in content.messages:
        if last is not None:
            time.sleep(min(max(message.timestamp - last, 0) / 1e9, LONGEST_PAUSE) / speed)
        last = message.timestamp
        _channel(message, channels).log(message.cdr, log_time=message.timestamp)


def _channel(message: BagMessage, channels: dict[tuple[str, str], Channel]) -> Channel:
    """Return the channel of a message's topic and type, which is opened when it is first needed."""
    from foxglove import Channel, Schema

    key = message.topic, message.type_name
    if key not in channels:
        schema = Schema(name=message.type_name, encoding="ros2msg", data=message.definition.encode())
        channels[key] = Channel(message.topic, schema=schema, message_encoding="cdr")
    return channels[key]
