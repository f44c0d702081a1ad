"""How often a policy solves unperturbed instances by contact, family by family and robot by robot.

World, controller, policy and scores run in one process, without ROS:

    python -m benchmark.oracle_success --instances 50 --robots franka ur5e
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import binomtest

from robocontrast_ros.bridges.in_process import InProcessBench
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import BASE, TestInstance, Trial
from robocontrast_ros.policies.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.simulators.world import World
from robocontrast_ros.tasks.language_table import LanguageTable

CONFIG = "package://robocontrast_ros/config"


def instances(task: LanguageTable, family: str, count: int, seed: int) -> Iterator[TestInstance]:
    """Draw instances of one family."""
    for index in range(count):
        rng = np.random.default_rng([seed, task.families.index(family), index])
        yield task.sample(rng, f"{family}-{index}", family)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robots", nargs="+", default=["franka", "ur5e"])
    parser.add_argument("--families", nargs="+", help="default: all")
    parser.add_argument("--instances", type=int, default=50, help="trials a family and robot")
    parser.add_argument("--policy", default="oracle", help="name of a policy with a file in config/policies/")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", action="store_true", help="print each failed instance")
    arguments = parser.parse_args()

    console = Console()
    task = LanguageTable.from_file(resolve_uri(f"{CONFIG}/tasks/language_table.yaml"))
    policy = PolicyRunner(resolve_uri(f"{CONFIG}/policies/{arguments.policy}.yaml"), timeout=5.0)
    table = Table(
        "robot", "family", "solved", "success", "95 % Wilson", "steps", "SPL", "clamped", "trials/min"
    )
    for robot in arguments.robots:
        world = World(load_profile(robot), task.world, task.start_position)
        bench = InProcessBench(world, task, policy)
        for family in arguments.families or task.families:
            drawn = list(instances(task, family, arguments.instances, arguments.seed))
            began = time.perf_counter()
            results = []
            for index, instance in enumerate(
                track(drawn, f"{robot} {family}", console=console, transient=True)
            ):
                bench.bring(instance.scene)
                trial = Trial(index, instance.instance_id, BASE, 0, instance, seed=index)
                result = bench.execute(trial, attempt=0).result
                results.append(result)
                if arguments.failures and not result.success:
                    console.print(
                        f"{robot} {index} '{instance.instruction.text}': {result.outcome.name}"
                        f" {result.detail} {result.steps} steps, {result.distance_to_goal:.3f} m off",
                        highlight=False,
                    )
            rate = 60.0 * len(results) / (time.perf_counter() - began)
            solved = sum(result.success == 1.0 for result in results)
            interval = binomtest(solved, len(results)).proportion_ci(method="wilson")
            steps = [result.steps for result in results]
            table.add_row(
                robot,
                family,
                f"{solved}/{len(results)}",
                f"{solved / len(results):.2f}",
                f"{interval.low:.2f} to {interval.high:.2f}",
                f"{np.mean(steps):.0f}",
                f"{np.mean([result.spl for result in results]):.2f}",
                f"{sum(result.clamped_steps for result in results) / max(sum(steps), 1):.3f}",
                f"{rate:.0f}",
            )
        world.close()
    console.print(table)


if __name__ == "__main__":
    main()
