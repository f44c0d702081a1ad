"""What the ROS graph adds to a control step, for one 224x224 camera whose images the policy receives.

The same session (same instances, policy, loop and scoring) runs twice: in one process without ROS, and as
the whole graph with its processes and its bags. A step's time in the graph is the difference between
the moments at which the recorder received the tool's pose of two control steps, so nothing is instrumented.
In one process physics, rendering and policy are timed around their calls; bookkeeping (scene, scoring,
limits) is the rest of a step; transport is what the graph adds.

    make bench        (or python benchmark/graph_overhead.py --trials 10 --robot ur5e --set composed=false)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import MethodType

import numpy as np
import yaml
from numpy.typing import NDArray
from rich.table import Table

from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.cli.ahead import GraphAhead
from robocontrast_ros.cli.session import run_session
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration.settings import parse_settings
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import EventsInMemory, read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

SIZE = 224
"""Columns and rows of the camera [pixel]."""

GRAPHS: dict[str, tuple[str, ...]] = {"whole graph": (), "composed: all": ("composed=all",)}
"""Name of a row -> settings of the session that runs as a graph for it."""


@dataclass(frozen=True)
class Measured:
    """What was measured of one way to run the session.

    Attributes:
        steps: time of each control step [s].
        episodes_per_minute: how many trials it ran in a minute.
    """

    steps: NDArray[np.float64]
    episodes_per_minute: float

    def percentile(self, q: float) -> float:
        """Return a percentile of the control steps [ms]."""
        return 1e3 * float(np.percentile(self.steps, q))


class Still:
    """A policy that looks at the camera's image and stays where it is."""

    @classmethod
    def from_file(cls, path: Path) -> Still:
        """Make one; the file holds nothing else."""
        return cls()

    def describe(self) -> PolicyDescription:
        """Ask for the camera."""
        return PolicyDescription("still", "planar_delta", 2, cameras=("board",))

    def reset(self, instruction: str, seed: int) -> None:
        """Nothing to do."""

    def act(self, observation: Observation) -> np.ndarray:
        """Touch every pixel once, and stay."""
        return np.zeros((1, 2)) * float(observation.images["board"].max())


class Stopwatch:
    """Collects when calls of an object's method begin and how long they take [s]."""

    def __init__(self, method: MethodType) -> None:
        """Put itself around the method of that one object."""
        self.times: list[float] = []
        self.began: list[float] = []

        def timed(*args: object) -> object:
            self.began.append(time.perf_counter())
            try:
                return method(*args)
            finally:
                self.times.append(time.perf_counter() - self.began[-1])

        setattr(method.__self__, method.__name__, timed)


def write_session(folder: Path, robot: str, trials: int) -> Path:
    """Write the session and its policy file; return the session's path."""
    # The policy server imports the policy from this file.
    here = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, here)
    policy = folder / "still.yaml"
    policy.write_text("policy: graph_overhead:Still\n")
    session = {
        "name": "graph_overhead",
        "seed": 1,
        "task": "language_table",
        "robot": robot,
        "policy": str(policy),
        "strategy": {"name": "standard"},
        "test_set": {"size": trials},
        "cameras": [{"name": "board", "width": SIZE, "height": SIZE}],
        "output": str(folder / "runs"),
    }
    path = folder / "graph_overhead.yaml"
    path.write_text(yaml.safe_dump(session))
    return path


def in_process(session: Path) -> tuple[Measured, dict[str, list[float]]]:
    """Run the session in one process; return what was measured, and the times of each step's parts [s]."""
    resolved = resolve(session)
    world = World(
        resolved.robot, resolved.task.scenes.world, resolved.task.scenes.start_position, (Camera("board", SIZE, SIZE),)
    )
    runner = PolicyRunner(resolved.policy_file, 10.0)
    bench = InProcessBench(world, resolved.task, runner)
    sink = EventsInMemory()
    began = time.perf_counter()
    parts = {
        "physics": Stopwatch(world.step),
        "rendering": Stopwatch(world.cameras.render),
        "policy": Stopwatch(runner.act),
    }
    commands = Stopwatch(world.apply_command)
    Session(resolved.evaluation(), bench, sink, SessionControl(), lambda status: None, time.time).run()
    wall = time.perf_counter() - began
    finished = [event for event in sink.kept if isinstance(event, TrialFinished)]
    world.close()
    runner.close()
    # One command a control step; between two trials a scene is set up, which is no control step.
    ends = np.cumsum([event.result.steps for event in finished])
    steps = np.delete(np.diff(commands.began), ends[:-1] - 1)
    return Measured(steps, 60.0 * len(finished) / wall), {name: part.times for name, part in parts.items()}


def whole_graph(session: Path, settings: Iterable[str], console: Console) -> Measured:
    """Run the session, with other settings, as a graph."""
    resolved = resolve(session, Overrides(settings=parse_settings(settings, "composed=false")))
    with contextlib.closing(GraphAhead("")) as ahead:
        run, code = run_session(resolved, None, console, "", ahead)
    if code != 0:
        raise SystemExit(f"the session ended with code {code}; its logs are in {run.path / 'logs'}")
    finished = [event for event in read_journal(run.journal).events if isinstance(event, TrialFinished)]
    gaps: list[float] = []
    for event in finished:
        poses = read_bag(run.path / event.recording.bag, lambda topic, kind: topic == "/tool_pose").messages
        gaps += (np.diff([pose.timestamp for pose in poses]) / 1e9).tolist()
    first, last = finished[0].time, finished[-1].time
    return Measured(np.array(gaps), 60.0 * (len(finished) - 1) / (last - first))


def main() -> None:
    """Run both and print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10, help="trials of 200 control steps, two at least")
    parser.add_argument("--robot", default="franka", help="name in config/robots/")
    parser.add_argument("--set", action="append", default=[], help="another setting of the graph's session")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    arguments = parser.parse_args()
    if arguments.trials < 2:
        parser.error(f"--trials: got {arguments.trials}, expected 2 or more: a rate needs the time between two")
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        session = write_session(Path(folder), arguments.robot, arguments.trials)
        alone, parts = in_process(session)
        graphs = {name: whole_graph(session, (*settings, *arguments.set), console) for name, settings in GRAPHS.items()}
    report(console, graphs, alone, parts)
    if arguments.json:
        arguments.json.write_text(json.dumps(numbers(graphs, alone), indent=2) + "\n")


def report(console: Console, graphs: dict[str, Measured], alone: Measured, parts: dict[str, list[float]]) -> None:
    """Print what was measured."""
    title = f"{len(alone.steps)} steps, one {SIZE}x{SIZE} camera"
    table = Table("control step [ms]", "median", "p90", "p99", "episodes a minute", title=title)
    for name, measured in {**graphs, "one process": alone}.items():
        percentiles = (f"{measured.percentile(q):.2f}" for q in (50, 90, 99))
        table.add_row(name, *percentiles, f"{measured.episodes_per_minute:.1f}")
    for name, times in parts.items():
        table.add_row(f"  of it {name}", *(f"{1e3 * np.percentile(times, q):.2f}" for q in (50, 90, 99)), "")
    bookkeeping = alone.percentile(50) - 1e3 * sum(np.median(times) for times in parts.values())
    table.add_row("  of it bookkeeping", f"{bookkeeping:.2f}", "", "", "")
    for name, measured in graphs.items():
        added = (f"{measured.percentile(q) - alone.percentile(q):.2f}" for q in (50, 90, 99))
        table.add_row(f"added by the {name} (transport)", *added, "")
    console.print(table)


def numbers(graphs: dict[str, Measured], alone: Measured) -> dict[str, dict[str, float]]:
    """Return the control steps' percentiles [ms] and the episodes a minute of each row."""
    return {
        name: {f"p{q}_ms": measured.percentile(q) for q in (50, 90, 99)}
        | {"episodes_per_minute": measured.episodes_per_minute}
        for name, measured in {**graphs, "one process": alone}.items()
    }


if __name__ == "__main__":
    main()
