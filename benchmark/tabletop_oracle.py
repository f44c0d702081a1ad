"""How often the oracle solves what the task `tabletop` draws, on one arm, and whether it touches what it should not.

For each skill the instances of seeds 0, 1, 2, …, none left out, in real physics without ROS and images. Of each trial:
its outcome; which bystanders (objects that the instruction does not name) the robot or the target touched, by the
contacts of the physics; and how far any bystander was moved.

    python -m benchmark.tabletop_oracle franka_hand                   200 scenes of each skill, some 20 minutes
    python -m benchmark.tabletop_oracle ur5e_2f85 --scenes 20         the first 20
    python -m benchmark.tabletop_oracle franka_hand --json            all numbers as one JSON object
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import BASE, Scene, TestInstance, Trial
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.objects.settling import PHYSICS
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.system.numerics import one_thread
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.goals import named
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

TASK = "package://robocontrast_ros/config/tasks/tabletop.yaml"
MOVED = 0.002
"""A bystander farther than this from where it stood was moved [m]."""


@dataclass(frozen=True)
class Measured:
    """One trial.

    Attributes:
        family: the skill.
        seed: of its instance.
        success: whether it was solved.
        reached: subgoals that were reached.
        steps: control steps.
        spl: success weighted by path length.
        touched: bystanders that robot or target touched.
        moved: greatest distance by which a bystander was moved [m].
        detail: the instruction, and the fault in words.
        seconds: of wall clock.
    """

    family: str
    seed: int
    success: bool
    reached: int
    steps: int
    spl: float
    touched: tuple[str, ...]
    moved: float
    detail: str
    seconds: float


class Arm:
    """A robot in the embedded world that executes trials one after the other."""

    def __init__(self, robot: str, policy: str) -> None:
        self.task: Tabletop = load_configured("tasks", resolve_uri(TASK))
        self.world = World(
            load_profile(robot),
            self.task.scenes.world,
            self.task.scenes.start_position,
            physics_step=self.task.scenes.physics_step,
        )
        file = resolve_uri(f"package://robocontrast_ros/config/policies/{policy}.yaml")
        self.bench = InProcessBench(self.world, self.task, PolicyRunner(file, timeout=60.0, own_thread=False))
        self._contacts: set[tuple[str, str]] = set()
        step = self.world.step

        def watched(count: int = 1) -> None:
            step(count)
            self._contacts |= self.world.contacts()

        self.world.step = watched

    def measure(self, family: str, seed: int) -> Measured:
        """Draw the instance of a seed, and execute its trial."""
        instance = self.task.sample(np.random.default_rng(seed), f"{family}_{seed}", family)
        began = time.monotonic()
        start = self.bench.bring(instance.scene)
        self._contacts.clear()
        trial = Trial(seed, instance.instance_id, BASE, 0, instance, seed)
        words = instance.instruction.text
        try:
            result = self.bench.execute(trial, 0).result
        except BenchFault as fault:
            return Measured(family, seed, False, 0, 0, 0.0, (), 0.0, f"{words}: {fault}", time.monotonic() - began)
        took = time.monotonic() - began
        scores = result.scores
        return Measured(
            family,
            seed,
            bool(result.success),
            int(scores["subgoals_reached"]) if "subgoals_reached" in scores else -1,
            result.steps,
            float(scores["spl"]),
            self._touched(instance),
            self._moved(instance, start),
            f"{words}: {result.detail}" if result.detail else words,
            took,
        )

    def _bystanders(self, instance: TestInstance) -> tuple[str, ...]:
        names = (state.name for state in self.task.planner.movable(instance.scene))
        return tuple(name for name in names if name not in named(instance.instruction))

    def _touched(self, instance: TestInstance) -> tuple[str, ...]:
        ours = {self.world.profile.name, str(instance.instruction.get("target"))}
        found = (a if b in ours else b for a, b in self._contacts if (a in ours) != (b in ours))
        return tuple(sorted(set(found) & set(self._bystanders(instance))))

    def _moved(self, instance: TestInstance, start: Scene) -> float:
        end = self.bench.scene()
        return max((start[name].pose.distance_to(end[name].pose) for name in self._bystanders(instance)), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", help="name of the robot's file")
    parser.add_argument("--policy", default="tabletop_oracle", help="name of the policy's file")
    parser.add_argument("--scenes", type=int, default=200, help="scenes of each skill")
    parser.add_argument("--families", nargs="*", help="skills; all when left out")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    arm, errors = Arm(asked.robot, asked.policy), Console(stderr=True, width=180)
    rows: list[Measured] = []
    with one_thread():
        for family in asked.families or arm.task.families:
            for seed in range(asked.scenes):
                rows.append(row := arm.measure(family, seed))
                if not row.success or row.touched or row.moved > MOVED:
                    errors.print(
                        f"{family} {seed}: {row.detail}; subgoals {row.reached}, steps {row.steps}, touched "
                        f"{', '.join(row.touched) or 'nothing'}, moved {row.moved:.3f} m",
                        style="dim",
                    )
    found = {}
    for family in dict.fromkeys(row.family for row in rows):
        own = [row for row in rows if row.family == family]
        found[family] = {
            "scenes": len(own),
            "solved": sum(row.success for row in own),
            "touched": sum(bool(row.touched) for row in own),
            "moved": sum(row.moved > MOVED for row in own),
            "spl": float(np.mean([row.spl for row in own])),
            "steps": float(np.mean([row.steps for row in own])),
        }
    if asked.json:
        seeds = [0, asked.scenes - 1]
        failed = [[row.family, row.seed, row.detail] for row in rows if not row.success]
        values = {"robot": asked.robot, "policy": asked.policy, "physics": PHYSICS, "families": found, "failed": failed}
        print(json.dumps({"seed": seeds, **values}))
        return
    table = Table(box=None)
    for heading in ("skill", "scenes", "solved", "%", "95 %", "touched", "moved", "SPL", "steps", "s"):
        table.add_column(heading, justify="right")
    for family, cells in found.items():
        rate = wilson(cells["solved"], cells["scenes"])
        seconds = np.mean([row.seconds for row in rows if row.family == family])
        table.add_row(
            family,
            *(str(cells[key]) for key in ("scenes", "solved")),
            f"{100 * rate.mean:.1f}",
            f"{100 * rate.low:.1f} to {100 * rate.high:.1f}",
            *(str(cells[key]) for key in ("touched", "moved")),
            f"{cells['spl']:.2f}",
            f"{cells['steps']:.0f}",
            f"{seconds:.2f}",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
