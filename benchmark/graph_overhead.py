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
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table

from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.cli import evaluate
from robocontrast_ros.configuration.settings import parse_settings
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.runs.events import Event, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

SIZE = 224
"""Columns and rows of the camera [pixel]."""


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

    def __init__(self, owner: object, method: str) -> None:
        """Put itself around the method."""
        self.times: list[float] = []
        self.began: list[float] = []
        original = getattr(owner, method)

        def timed(*args: object) -> object:
            self.began.append(time.perf_counter())
            try:
                return original(*args)
            finally:
                self.times.append(time.perf_counter() - self.began[-1])

        setattr(owner, method, timed)


class Kept:
    """Keeps a session's events."""

    def __init__(self) -> None:
        """Start empty."""
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)


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


def in_process(session: Path) -> tuple[dict[str, np.ndarray], float]:
    """Run the session in one process; return the times of each step's parts [s] and the episodes a minute."""
    resolved = resolve(session)
    world = World(
        resolved.robot, resolved.task.scenes.world, resolved.task.scenes.start_position, (Camera("board", SIZE, SIZE),)
    )
    runner = PolicyRunner(resolved.policy_file, 10.0)
    bench = InProcessBench(world, resolved.task, runner)
    sink = Kept()
    began = time.perf_counter()
    physics, rendering = Stopwatch(world, "step"), Stopwatch(world, "render")
    policy, commands = Stopwatch(runner, "act"), Stopwatch(world, "follow")
    Session(resolved.evaluation(), bench, sink, SessionControl(), lambda status: None, time.time).run()
    wall = time.perf_counter() - began
    finished = [event for event in sink.events if isinstance(event, TrialFinished)]
    world.close()
    runner.close()
    # One command a control step; between two trials a scene is set up, which is no control step.
    ends = np.cumsum([event.result.steps for event in finished])
    parts = {
        "step": np.delete(np.diff(commands.began), ends[:-1] - 1),
        "physics": np.array(physics.times),
        "rendering": np.array(rendering.times),
        "policy": np.array(policy.times),
    }
    return parts, 60.0 * len(finished) / wall


def whole_graph(session: Path, settings: list[str], console: Console) -> tuple[np.ndarray, float]:
    """Run the session, with other settings, as a graph; return each step's time [s] and the episodes a minute."""
    overrides = Overrides(settings=parse_settings(settings, "composed=false"))
    run, code = evaluate.start(str(session), overrides, console)
    if code != 0:
        raise SystemExit(f"the session ended with code {code}; its logs are in {run.path / 'logs'}")
    finished = [event for event in read_journal(run.journal).events if isinstance(event, TrialFinished)]
    gaps: list[float] = []
    for event in finished:
        poses = read_bag(run.path / event.recording.bag, lambda topic, kind: topic == "/tool_pose").messages
        gaps += (np.diff([pose.timestamp for pose in poses]) / 1e9).tolist()
    first, last = finished[0].time, finished[-1].time
    return np.array(gaps), 60.0 * (len(finished) - 1) / (last - first)


def main() -> None:
    """Run both and print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10, help="trials of 200 control steps")
    parser.add_argument("--robot", default="franka", help="name in config/robots/")
    parser.add_argument("--set", action="append", default=[], help="another setting of the graph's session")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        session = write_session(Path(folder), arguments.robot, arguments.trials)
        parts, alone = in_process(session)
        graph, together = whole_graph(session, arguments.set, console)
    report(console, parts, graph, alone, together, arguments.json)


def report(
    console: Console,
    parts: dict[str, np.ndarray],
    graph: np.ndarray,
    alone: float,
    together: float,
    file: Path | None,
) -> None:
    """Print what was measured."""
    step = parts.pop("step")
    bookkeeping = np.median(step) - sum(np.median(times) for times in parts.values())
    rows = {
        "whole graph": graph,
        "one process": step,
        **{f"  of it {name}": times for name, times in parts.items()},
    }
    table = Table("control step [ms]", "median", "p90", "p99", title=f"{len(graph)} steps, one {SIZE}x{SIZE} camera")
    for name, times in rows.items():
        table.add_row(name, *(f"{1e3 * np.percentile(times, q):.2f}" for q in (50, 90, 99)))
    table.add_row("  of it bookkeeping", f"{1e3 * bookkeeping:.2f}", "", "")
    added = {q: 1e3 * (np.percentile(graph, q) - np.percentile(step, q)) for q in (50, 90, 99)}
    table.add_row("added by the graph (transport)", *(f"{value:.2f}" for value in added.values()))
    console.print(table)
    console.print(f"episodes a minute: {together:.1f} in the graph (with bags), {alone:.1f} in one process")
    if file is not None:
        numbers = {
            "added_ms": {f"p{q}": value for q, value in added.items()},
            "graph_ms": {f"p{q}": 1e3 * float(np.percentile(graph, q)) for q in (50, 99)},
            "one_process_ms": {f"p{q}": 1e3 * float(np.percentile(step, q)) for q in (50, 99)},
            "episodes_per_minute": {"graph": together, "one_process": alone},
        }
        file.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
