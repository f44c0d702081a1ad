"""Run sessions as a user does, as a command in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.runs.events import Event, TrialFinished
from robocontrast_ros.runs.journal import read_journal

SUPPORT = Path(__file__).resolve().parent
COMMAND = [sys.executable, "-c", "from robocontrast_ros.cli.main import app; app()"]
ALONE = [sys.executable, str(SUPPORT / "session_alone.py")]
"""The command, without the results of a session at its end."""
LONG_LIMITS = {"rollout": 50.0, "loop": 30.0, "state": 10.0, "cameras": 30.0}
"""Limits of a watchdog on a machine that does other things besides."""
TIMEOUTS = {"policy": 30.0, "sensors": 30.0, "set_up": 240.0, "scoring": 30.0, "recording": 60.0, "start_up": 240.0}
"""Limits of a session there, unless a test is about one of them."""
VOID_RETRIES = 20
"""How often a trial that the machine, too, may have made void is tried again."""
DEADLINE = 400.0
"""A session of these tests that takes longer hangs [s]."""


@dataclass
class Workplace:
    """A folder with session files, and runs below it.

    Attributes:
        folder: where they are.
        environment: variables that its commands have besides.
        results: whether a session shows its results at its end, as a user has it: tables, figure and maps.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    results: bool = False

    def session(self, **changes: object) -> Path:
        """Write a small session file and return it."""
        content: dict[str, object] = {
            "name": "small",
            "seed": 3,
            "task": "language_table",
            "robot": "franka",
            "policy": "oracle",
            "strategy": {"name": "standard"},
            "test_set": {"size": 2},
            "cameras": [{"name": "board", "width": 64, "height": 48}],
            "output": str(self.folder / "runs"),
            "void_retries": VOID_RETRIES,
            **changes,
        }
        content["timeouts"] = TIMEOUTS | dict(content.get("timeouts", {}))
        if dict(content.get("world", {})).get("pacing") == "wall_clock":
            content.setdefault("watchdog", LONG_LIMITS)
        path = self.folder / "small.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    def short_task(self, steps: int, name: str = "language_table", **changes: object) -> str:
        """Write a task whose trials are over after so many steps, with other changes of its file; return its path."""
        task = read_yaml(resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))
        path = self.folder / "short.yaml"
        path.write_text(yaml.safe_dump({**task, "step_limit": steps, **changes}))
        return str(path)

    def policy(self, name: str, module: str = "faulty_policies") -> str:
        """Write the parameter file of a policy for tests and return its path."""
        path = self.folder / f"{name}.yaml"
        path.write_text(f"policy: {module}:{name}\n")
        return str(path)

    def begin(self, *arguments: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Start the command, with other words before it; the caller waits for it or stops it."""
        environment = {**os.environ, **self.environment}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SUPPORT), environment.get("PYTHONPATH")]))
        return subprocess.Popen(
            [*before, *(COMMAND if self.results else ALONE), *map(str, arguments)],
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *arguments: object) -> tuple[int, str]:
        """Run the command to its end; return exit code and what it printed."""
        process = self.begin(*arguments)
        return finish(process)

    @property
    def runs(self) -> list[Path]:
        """The run folders, oldest first."""
        return sorted((self.folder / "runs").glob("*"))


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a command to end; return exit code and what it printed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        output, _ = process.communicate(timeout=DEADLINE)
        return process.returncode, output
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    raise AssertionError(f"the command did not end within {DEADLINE:g} s:\n{output}")


def wait_until(condition: Callable[[], object], what: str, timeout: float = 240.0) -> object:
    """Return the condition's first true value."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {timeout:g} s")


def wait_for_line(process: subprocess.Popen[str], begin: str) -> str:
    """Return the next line of a command that begins with some words; what it printed before is lost."""
    for line in process.stdout:
        if line.startswith(begin):
            return line
    raise AssertionError(f"the command ended without '{begin}…'")


def events_of(run: Path) -> tuple[Event, ...]:
    """Return the journal's events; none while there is no journal."""
    journal = run / "journal.jsonl"
    return read_journal(journal).events if journal.exists() else ()


def finished(run: Path) -> list[TrialFinished]:
    """Return the trials that count."""
    return [event for event in events_of(run) if isinstance(event, TrialFinished)]


def scores(run: Path) -> list[str]:
    """Return what must not depend on when and how fast a session ran, as text, in which NaN equals NaN."""
    return [repr((e.trial, e.result, e.observed, e.delivered, e.cost)) for e in finished(run)]


def node_pids(run: Path) -> dict[str, int]:
    """Return the process ids of a run's nodes that are alive."""
    pids = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # One that was forked has its words with spaces between them.
            words = (process / "cmdline").read_bytes().decode().replace("\0", " ")
        except OSError:
            continue
        _, found, name = words.partition(f"{run / 'parameters' / 'nodes'}/")
        if found:
            pids[name.partition(".yaml")[0]] = int(process.name)
    return pids
