"""How often the oracle solves each task of the suite on each arm.

For each task the scenes of seeds 0, 1, 2, …, none left out, in real physics without ROS and images.

    python -m benchmark.suite_tasks                                          10 scenes of each task on the Franka Hand
    python -m benchmark.suite_tasks --robot franka_hand ur5e_2f85 --json     ... and on the other arm, as JSON
    python -m benchmark.suite_tasks --draws 2 --tasks 'stove/*' 'towers/*'   two scenes of some tasks
    python -m benchmark.suite_tasks --keep FOLDER                            goes on from FOLDER/ROBOT.jsonl
    python -m benchmark.suite_tasks --keep FOLDER --draws 10 --mark          and writes the arms into the files
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmark.kitchen_skills import CONFIG, Measured, numbers, table
from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.configuration.loading import read_yaml
from robocontrast_ros.domain import BASE, Trial
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.files import write_scene
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

SOLVED = 0.9
"""Share of the draws that an arm's oracle solves of a task that is marked with the arm."""


class Arm:
    """A robot in the embedded world that executes trials one after the other."""

    def __init__(self, robot: str, task: Suite) -> None:
        scenes, self._task = task.scenes, task
        world = World(load_profile(robot), scenes.world, scenes.start_position, physics_step=scenes.physics_step)
        file = resolve_uri(f"{CONFIG}/policies/suite_oracle.yaml")
        self._bench = InProcessBench(world, task, PolicyRunner(file, timeout=60.0, own_thread=False))

    def measure(self, name: str, seed: int) -> Measured:
        """Draw the scene of a seed, and execute its trial."""
        try:
            instance = self._task.sample_of(name, np.random.default_rng(seed), f"{name}_{seed}")
            self._bench.bring(instance.scene)
            result = self._bench.execute(Trial(seed, instance.instance_id, BASE, 0, instance, seed), 0).result
        except (BenchFault, ValueError) as error:
            return Measured(name, seed, False, detail=str(error))
        return Measured(name, seed, bool(result.success), result.steps, (), result.detail)


def measure_all(robot: str, task: Suite, names: Sequence[str], seeds: range, keep: Path | None) -> list[Measured]:
    """Return the trials of tasks on a robot: those that a file keeps, and those that are executed now."""
    file = keep / f"{robot}.jsonl" if keep else None
    kept = {}
    if file is not None and file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            row = Measured(**json.loads(line))
            kept[row.skill, row.seed] = row
    arm, began = None, time.monotonic()
    for seed in seeds:
        for name in names:
            if (name, seed) in kept:
                continue
            arm = arm or Arm(robot, task)
            row = kept[name, seed] = arm.measure(name, seed)
            if not row.success:
                line = f"{time.monotonic() - began:5.0f} s {robot} {name} seed {seed}: {row.detail or 'not solved'}"
                print(line, file=sys.stderr, flush=True)
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as open_file:
                    open_file.write(json.dumps(asdict(row)) + "\n")
        solved = sum(kept[name, seed].success for name in names)
        print(
            f"{time.monotonic() - began:5.0f} s {robot} seed {seed}: {solved}/{len(names)}", file=sys.stderr, flush=True
        )
    return [kept[name, seed] for name in names for seed in seeds]


def mark(task: Suite, trials: dict[str, list[Measured]]) -> None:
    """Write into the files of the suite which arms solve each task that was measured."""
    solved: defaultdict[str, list[str]] = defaultdict(list)
    for robot, rows in trials.items():
        for name in dict.fromkeys(row.skill for row in rows):
            own = [row.success for row in rows if row.skill == name]
            solved[name] += [robot] * (sum(own) >= SOLVED * len(own))
    for file in dict.fromkeys(task.suite[name].file for name in solved):
        content = read_yaml(file)
        for name, said in content["tasks"].items():
            if (full := f"{file.stem}/{name}") in solved:
                said["arms"] = solved[full]
        write_scene(file, content)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="scenes of each task")
    parser.add_argument("--robot", nargs="+", default=["franka_hand"], help="names of the robots' files")
    parser.add_argument("--tasks", nargs="*", default=["*"], help="names of tasks; * stands for any characters")
    parser.add_argument("--keep", type=Path, help="folder that keeps the trials of each robot, and from which to go on")
    parser.add_argument("--mark", action="store_true", help="write the arms that solve a task into its file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    task: Suite = load_configured("tasks", resolve_uri(f"{CONFIG}/tasks/tabletop_suite.yaml"))
    names = [name for name in task.suite if any(fnmatch.fnmatch(name, pattern) for pattern in asked.tasks)]
    if not names:
        parser.error(f"--tasks: got {asked.tasks}, expected some of {', '.join(task.suite)}")
    seeds = range(asked.draws)
    with one_thread():
        trials = {robot: measure_all(robot, task, names, seeds, asked.keep) for robot in asked.robot}
    if asked.mark:
        mark(task, trials)
    if asked.json:
        print(json.dumps(numbers(trials, seeds)))
        return
    print("\n\n".join(f"{robot}\n\n{table(rows)}" for robot, rows in trials.items()))


if __name__ == "__main__":
    main()
