"""How much of a processor a session on the wall clock takes while it waits for a person.

A whole session in the emulated laboratory (``test/support/emulated_lab.py``: the real driver's topics at their rates)
is paused after its first trial. Then the processor time of the watchdog's process and of the container's, which has the
rollout, is counted for a while, thread by thread: the threads of Fast DDS by their names, and those of Python. The
emulated drivers are not counted; they take more than all of it.

    python -m benchmark.idle_load          (--robots ur5e --seconds 10 --json)
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table
from robocontrast_ros.srv import PauseSession

from robocontrast_ros.nodes.runtime.channel import call
from robocontrast_ros.runs.events import Paused
from robocontrast_ros.sessions.resolving import resolve

SUPPORT = Path(__file__).resolve().parents[1] / "test" / "support"
sys.path.insert(0, str(SUPPORT))

from domains import own_domain  # noqa: E402
from laboratory import RATES, WORLD, laboratory, real_robot  # noqa: E402
from session_runs import Workplace, events_of, finish, node_pids, wait_until  # noqa: E402
from spinning import spun_node  # noqa: E402

ROBOTS = {"franka": "language_table", "ur5e": "language_table", "locobot": "studio_apartment"}
"""Robot -> the task of the session."""
POLICIES = {"language_table": "oracle", "studio_apartment": "vln_oracle"}
CAMERAS = {"language_table": "board", "studio_apartment": "camera"}
STEPS = 10
"""Control steps of the trial before the pause."""
TIMEOUT = 60.0
"""Of a call [s]."""
GOAL = 5.0
"""Of watchdog and container together [percent of a processor]."""

Threads = dict[tuple[str, int], tuple[str, float]]
"""Process's name and thread's id -> the thread's name, and its processor time so far [s]."""


def threads_of(pids: dict[str, int]) -> Threads:
    """Return the threads of processes, by the processes' names."""
    found = {}
    for name, pid in pids.items():
        for task in Path(f"/proc/{pid}/task").iterdir():
            comm = (task / "comm").read_text().strip()
            kind = "main" if task.name == str(pid) else comm if comm.startswith("dds.") else "python"
            found[name, int(task.name)] = kind, 1e-9 * int((task / "schedstat").read_text().split()[0])
    return found


def shares(before: Threads, after: Threads, seconds: float) -> dict[str, dict[str, float]]:
    """Return the share of a processor of each process's threads, those of the same name together [percent]."""
    found: dict[str, Counter[str]] = {}
    for (process, thread), (name, spent) in after.items():
        _, already = before.get((process, thread), ("", 0.0))
        found.setdefault(process, Counter())[name] += 100.0 * (spent - already) / seconds
    return {process: dict(of) for process, of in found.items()}


def measure(robot: str, seconds: float, folder: Path) -> dict[str, dict[str, float]]:
    """Run a session until it waits, and return what its processes take then [percent of a processor]."""
    task, place = ROBOTS[robot], Workplace(folder)
    session = place.session(
        world=WORLD,
        task=place.short_task(STEPS, task),
        robot=real_robot(robot, folder),
        policy=POLICIES[task],
        cameras=[{"name": CAMERAS[task], "width": 64, "height": 48}],
    )
    with own_domain(), laboratory(resolve(session), folder), spun_node("person") as person:
        client = person.create_client(PauseSession, "episode_manager/pause")
        process = place.begin("evaluate", session)
        try:
            (run,) = wait_until(lambda: place.runs, "a run folder")
            wait_until(client.service_is_ready, "the session's services")
            wait_until(lambda: call(client, PauseSession.Request(), TIMEOUT).accepted, "a session that can be paused")
            wait_until(lambda: any(isinstance(event, Paused) for event in events_of(run)), "the pause")
            pids = node_pids(run)
            watched = {name: pids[name] for name in ("watchdog", "container")}
            began, before = time.monotonic(), threads_of(watched)
            time.sleep(seconds)
            after = threads_of(watched)
            return shares(before, after, time.monotonic() - began)
        finally:
            process.send_signal(signal.SIGINT)
            finish(process)


def show(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print a table of all threads that take anything."""
    table = Table(
        "robot", "state [Hz]", "process", "percent of a processor", "of which", title=f"goal: {GOAL:g} together"
    )
    for robot, processes in results.items():
        for process, of in processes.items():
            most = sorted(of.items(), key=lambda entry: -entry[1])
            parts = ", ".join(f"{name} {share:.1f}" for name, share in most if share >= 0.05)
            table.add_row(robot, f"{RATES[robot]:g}", process, f"{sum(of.values()):.1f}", parts)
        table.add_row(robot, "", "both", f"{sum(sum(of.values()) for of in processes.values()):.1f}", "")
    Console().print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each is measured")
    parser.add_argument("--json", action="store_true", help="print numbers instead of a table")
    arguments = parser.parse_args()
    results = {}
    for robot in arguments.robots:
        with tempfile.TemporaryDirectory() as folder:
            results[robot] = measure(robot, arguments.seconds, Path(folder))
    if arguments.json:
        print(json.dumps(results))
    else:
        print(f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
        show(results)


if __name__ == "__main__":
    main()
