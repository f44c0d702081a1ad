"""How far a navigation policy gets in generated instances and in their perturbations.

World, controller, policy and scores run in one process, without ROS:

    python -m benchmark.navigation_success --policy vln_modular --instances 40

Intervals: 95 %, over trials: Wilson's for rates, bootstrapped for means.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import binomtest, bootstrap

from robocontrast_ros.bridges.in_process import InProcessBench
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import BASE, Scene, TestInstance, Trial, TrialResult
from robocontrast_ros.perturbations.protocol import Perturbed
from robocontrast_ros.perturbations.vln import MoveGoalOrObstruct, MovePassive, Redirect, Reword
from robocontrast_ros.policies.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.simulators.rendering import Camera
from robocontrast_ros.simulators.world import World
from robocontrast_ros.tasks.vln import VisionLanguageNavigation

CONFIG = "package://robocontrast_ros/config"
PERTURBATIONS = (Reword(), Redirect(), MovePassive(), MoveGoalOrObstruct())


def instances(
    task: VisionLanguageNavigation, family: str, index: int, seed: int
) -> Iterator[tuple[str, TestInstance]]:
    """Draw an instance, and each of its perturbations that there is."""
    drawn = [seed, task.families.index(family), index]
    base = task.sample(np.random.default_rng(drawn), f"{family}-{index}", family)
    yield "base", base
    for number, perturbation in enumerate(PERTURBATIONS):
        rng = np.random.default_rng([*drawn, number])
        answer = perturbation.apply(task, base, base.scene, rng)
        if isinstance(answer, Perturbed):
            yield perturbation.symbol, answer.instance


def row(name: str, results: list[TrialResult]) -> list[str]:
    """Return a line of the table."""

    def mean(values: list[float]) -> str:
        if len(set(values)) < 2:
            return f"{np.mean(values):.2f}"
        found = bootstrap((values,), np.mean, rng=np.random.default_rng(0), method="percentile")
        low, high = found.confidence_interval
        return f"{np.mean(values):.2f} ({low:.2f} to {high:.2f})"

    solved = sum(result.success == 1.0 for result in results)
    rate = binomtest(solved, len(results)).proportion_ci(method="wilson")
    return [
        name,
        str(len(results)),
        mean([result.progress for result in results]),
        f"{solved / len(results):.2f} ({rate.low:.2f} to {rate.high:.2f})",
        mean([result.spl for result in results]),
        f"{np.mean([result.ndtw for result in results]):.2f}",
        f"{np.mean([result.collisions for result in results]):.1f}",
        f"{np.mean([result.steps for result in results]):.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--policy", default="vln_oracle", help="name of a policy with a file in config/policies/"
    )
    parser.add_argument("--family", nargs="+", default=["generated"], help="families of instances")
    parser.add_argument("--instances", type=int, default=20, help="instances of each family")
    parser.add_argument("--base-only", action="store_true", help="without perturbations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", action="store_true", help="print each trial without full progress")
    arguments = parser.parse_args()

    console = Console(width=120)
    task = VisionLanguageNavigation.from_file(resolve_uri(f"{CONFIG}/tasks/studio_apartment.yaml"))
    policy = PolicyRunner(resolve_uri(f"{CONFIG}/policies/{arguments.policy}.yaml"), timeout=30.0)
    cameras = [Camera(name, 320, 240) for name in policy.description.cameras]
    world = World(load_profile("locobot"), task.world, cameras=cameras, physics_step=task.physics_step)
    bench = InProcessBench(world, task, policy)
    results: dict[str, list[TrialResult]] = {}
    began = time.perf_counter()
    drawn = [(family, index) for family in arguments.family for index in range(arguments.instances)]
    for family, index in track(drawn, arguments.policy, console=console, transient=True):
        for number, (kind, instance) in enumerate(instances(task, family, index, arguments.seed)):
            if number and arguments.base_only:
                break
            # Nothing of the trial before is left.
            bench.bring(Scene(robot=instance.scene.robot))
            bench.bring(instance.scene)
            trial = Trial(index, instance.instance_id, BASE, 0, instance, seed=index)
            result = bench.execute(trial, attempt=0).result
            results.setdefault(kind, []).append(result)
            if arguments.failures and result.progress < 1.0:
                console.print(
                    f"{family}-{index} {kind} '{instance.instruction.text}': progress {result.progress:g}, "
                    f"{result.outcome.name} {result.detail} {result.steps} steps, {result.collisions} collisions, "
                    f"{result.distance_to_goal:.2f} m off",
                    highlight=False,
                )
    seconds = time.perf_counter() - began
    world.close()
    table = Table("", "trials", "progress", "success", "SPL", "nDTW", "collisions", "steps")
    for kind, found in results.items():
        table.add_row(*row(kind, found))
    total = [result for found in results.values() for result in found]
    table.add_row(*row("all", total))
    console.print(table)
    console.print(f"{arguments.policy}, seed {arguments.seed}: {seconds / len(total):.1f} s a trial")


if __name__ == "__main__":
    main()
